"""Sets or removes one entry of a YAML file by its place in the text; comments, order and spacing stay.

Only mappings in block style (one key per line) are edited: that is how Goose writes its file.
"""

from typing import Any, cast

import yaml


def get_value(text: str, path: tuple[str, ...]) -> Any:
    """Returns the value at ``path``; None if there is none."""
    value: Any = yaml.safe_load(text)
    for key in path:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def put_value(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Returns ``text`` with ``value`` at ``path``, which has two keys; the new entry becomes the first of its mapping."""
    text = remove_value(text, path)
    top, name = path
    root = _compose_nodes(text)
    holder = _find_pair(root, top)
    newline = "\r\n" if "\r\n" in text else "\n"
    if holder is None:
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}{_format_block({top: {name: value}}, '', newline)}"
    if not isinstance(holder[1], yaml.MappingNode) or (holder[1].flow_style and holder[1].value):
        raise ValueError(f"{top} is not written one key per line")
    if not holder[1].value:  # `extensions: {}`
        block = _format_block({name: value}, "  ", newline)
        return f"{text[: holder[0].end_mark.index]}:{newline}{block.rstrip()}{text[holder[1].end_mark.index :]}"
    first = holder[1].value[0][0].start_mark
    line = first.index - first.column
    return text[:line] + _format_block({name: value}, " " * first.column, newline) + text[line:]


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Returns ``text`` without the entry at ``path``; unchanged if there is none."""
    if get_value(text, path) is None:
        return text
    node = _compose_nodes(text)
    for key in path[:-1]:
        found = _find_pair(node, key)
        assert found is not None
        node = found[1]
    found = _find_pair(node, path[-1])
    assert found is not None
    if node.flow_style:
        raise ValueError(f"{path[0]} is not written one key per line")
    start = found[0].start_mark.index - found[0].start_mark.column
    end = _find_block_end(text, start, found[0].start_mark.column)
    if len(node.value) == 1 and len(path) > 1:
        # A key without anything below it would read as null.
        holder = _find_pair(_compose_nodes(text), path[0])
        assert holder is not None
        return text[: holder[0].end_mark.index] + ": {}" + ("\r\n" if "\r\n" in text else "\n") + text[end:]
    return text[:start] + text[end:]


def _compose_nodes(text: str) -> Any:
    """Returns the nodes of ``text`` with their places."""
    return yaml.compose(text, yaml.SafeLoader)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _find_pair(node: Any, key: str) -> Any:
    """Returns the key and value nodes of ``key`` in a mapping; None if it is not there."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in pairs if pair[0].value == key), None)


def _find_block_end(text: str, start: int, column: int) -> int:
    """Returns where the block that begins at ``start`` ends: before the next non-empty line that is indented no deeper."""
    at = text.find("\n", start) + 1
    last = at or len(text)
    while 0 < at < len(text):
        stop = text.find("\n", at) + 1 or len(text)
        line = text[at:stop].rstrip()
        indent = len(line) - len(line.lstrip(" "))
        is_list = indent == column and line[column:].startswith("- ")  # a list may stand at the column of its key
        if line and indent <= column and not is_list:
            break
        last = stop if line else last
        at = stop
    return last


def _format_block(value: dict[str, Any], indent: str, newline: str) -> str:
    lines = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1_000).splitlines()
    return "".join(f"{indent}{line}{newline}" for line in lines)
