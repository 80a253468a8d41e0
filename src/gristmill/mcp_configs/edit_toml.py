"""Sets or removes one entry of a TOML file: as a table of its own at the end, so that nothing else is touched."""

import re
from typing import Any, cast

import tomlkit
from tomlkit.items import InlineTable


def get_value(text: str, path: tuple[str, ...]) -> Any:
    """Returns the value at ``path``; None if there is none."""
    value: Any = tomlkit.parse(text).unwrap()
    for key in path:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def put_value(text: str, path: tuple[str, ...], value: dict[str, Any]) -> str:
    """Returns ``text`` with the table ``value`` at ``path``, which has two keys."""
    text = remove_value(text, path)
    document: Any = tomlkit.parse(text)
    holder: Any = document.get(path[0])
    if holder is not None and not isinstance(holder, dict):
        raise ValueError(f"{path[0]} is not a table")
    if isinstance(holder, InlineTable):
        inline: Any = tomlkit.inline_table()
        inline.update(value)
        holder[path[1]] = inline
        return tomlkit.dumps(document)
    newline = "\r\n" if "\r\n" in text else "\n"
    table = tomlkit.dumps({path[0]: {path[1]: value}}).replace("\n", newline)
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{table}"


def remove_value(text: str, path: tuple[str, ...]) -> str:
    """Returns ``text`` without the table at ``path`` and the tables below it; unchanged if there is none."""
    if get_value(text, path) is None:
        return text
    shorter = text
    while found := _compile_header_pattern(path).search(shorter):
        following = re.compile(r"^[ \t]*\[", re.MULTILINE).search(shorter, found.end())
        end = following.start() if following else len(shorter)
        # Comments above the next table belong to that table.
        body = re.sub(r"(?:^[ \t]*(?:#[^\n]*)?\r?\n)*\Z", "", shorter[found.start() : end], flags=re.MULTILINE)
        shorter = re.sub(r"\n\r?\n\Z", "\n", shorter[: found.start()]) + shorter[found.start() + len(body) :]
    if get_value(shorter, path) is None:
        return shorter
    document: Any = tomlkit.parse(text)  # written in another form, such as an inline table
    del document[path[0]][path[1]]
    return tomlkit.dumps(document)


def _compile_header_pattern(path: tuple[str, ...]) -> re.Pattern[str]:
    """Returns a pattern for the line that begins the table at ``path``, or a table below it."""
    keys = r"\s*\.\s*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in path)
    return re.compile(rf"^[ \t]*\[\s*{keys}\s*(?:\.[^\]]*)?\][^\n]*(?:\n|\Z)", re.MULTILINE)
