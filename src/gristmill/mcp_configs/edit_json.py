"""Sets or removes one entry of a JSON file; comments, order, spacing and everything else stay as they are."""

import json
import re
from typing import Any

from gristmill.mcp_configs.scan_json import JsonNode, scan_json

_TAIL_COMMENT = re.compile(r"[ \t]*(?://[^\n\r]*|/\*[^\n]*?\*/[ \t]*(?=\r?\n))")


def get_value(text: str, path: tuple[str, ...]) -> Any:
    """Returns the value at ``path``; None if there is none."""
    value: Any = scan_json(text).value if text.strip() else {}
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return value  # pyright: ignore[reportUnknownVariableType]


def put_value(text: str, path: tuple[str, ...], value: Any) -> str:
    """Returns ``text`` with ``value`` at ``path``; missing objects on the way are created."""
    if text.strip() in ("", "{}"):
        return json.dumps(_nest_value(path, value), indent=2, ensure_ascii=False) + "\n"
    node = scan_json(text)
    for depth, key in enumerate(path):
        if node.members is None:
            raise ValueError(f"{'.'.join(path[:depth]) or 'the file'} is not an object")
        if key not in node.members:
            return _insert_member(text, node, key, _nest_value(path[depth + 1 :], value))
        node = node.members[key].node
    return text[: node.start] + _format_value(text, value, _find_indent(text, node.start)) + text[node.end :]


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Returns ``text`` without the entry at ``path``; unchanged if there is none."""
    if get_value(text, path) is None:
        return text
    node = scan_json(text)
    for key in path[:-1]:
        assert node.members is not None
        node = node.members[key].node
    return _remove_member(text, node, path[-1])


def _nest_value(path: tuple[str, ...], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _insert_member(text: str, node: JsonNode, key: str, value: Any) -> str:
    assert node.members is not None
    newline = _find_newline(text)
    outer = _find_indent(text, node.start)
    last = list(node.members.values())[-1] if node.members else None
    inner = _find_indent(text, last.start) if last and _begins_line(text, last.start) else outer + _find_indent_unit(text)
    one_line = last is not None and "\n" not in text[node.start : node.end]
    member = f"{json.dumps(key, ensure_ascii=False)}: {_format_value('' if one_line else text, value, inner)}"
    if last is None:
        rest = text[node.start + 1 :]
        closing = "" if re.match(r"[ \t]*(\r?\n|//|/\*)", rest) else f"{newline}{outer}"
        return f"{text[: node.start + 1]}{newline}{inner}{member}{closing}{rest.lstrip(' ') if closing else rest}"
    at = last.comma if last.comma > 0 else last.node.end
    comment = _TAIL_COMMENT.match(text, at)
    # A comment at the end of a line belongs to the entry before it, so the new line comes after it.
    place = comment.end() if comment else at
    before = text[:at] + ("" if last.comma > 0 else ",") + text[at:place]
    gap = " " if one_line else f"{newline}{inner}"
    return f"{before}{gap}{member}{',' if last.comma > 0 else ''}{text[place:]}"


def _remove_member(text: str, node: JsonNode, key: str) -> str:
    assert node.members is not None
    names = list(node.members)
    member = node.members[key]
    start, end = member.start, max(member.comma, member.node.end)
    if _begins_line(text, start):
        start = text.rfind("\n", 0, start)
        start = start - 1 if start > 0 and text[start - 1] == "\r" else start
    elif member.comma > 0:
        end = re.compile(r"[ \t]*").match(text, end).end()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
    if member.comma > 0 or names[0] == key:
        return text[:start] + text[end:]
    # The last entry is removed, and with it the comma after the entry before it.
    comma = node.members[names[names.index(key) - 1]].comma
    between = text[comma:start]
    return text[: comma - 1] + (between if _begins_line(text, member.start) else between.rstrip(" \t")) + text[end:]


def _format_value(text: str, value: Any, indent: str) -> str:
    """Returns ``value`` formatted like the rest of the file."""
    if "\n" not in text.strip():
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=_find_indent_unit(text), ensure_ascii=False).split("\n")
    return f"{_find_newline(text)}{indent}".join(lines)


def _find_newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _find_indent_unit(text: str) -> str:
    found = re.search(r"^([ \t]+)\S", text, re.MULTILINE)
    return "\t" if found and found[1].startswith("\t") else " " * min(len(found[1]), 8) if found else "  "


def _find_indent(text: str, at: int) -> str:
    """Returns the spaces at the start of the line that contains ``at``."""
    line = text.rfind("\n", 0, at) + 1
    found = re.compile(r"[ \t]*").match(text, line)
    return found[0] if found else ""


def _begins_line(text: str, at: int) -> bool:
    return "\n" in text[:at] and not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t")
