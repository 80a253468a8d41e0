# ruff: noqa: RUF001 - the characters that look like others are what this file is about
"""Takes a program out of what was put around it: Markdown fences, JSON, tags, prose."""

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, cast

_FENCE = re.compile(
    r"^[ \t]*(?:```+|~~~+)[ \t]*([\w+#.-]*)[^\n]*\n(.*?)(?:^[ \t]*(?:```+|~~~+)[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)
_INLINE_FENCE = re.compile(r"```(?:python3?|py)?[ \t]*(.*?)```", re.DOTALL)
_PYTHON_TAGS = frozenset({"", "python", "python3", "py", "py3", "ipython", "tool_code", "code", "pycon"})
_TAG = re.compile(r"<(code|python|execute|execute_code|script|tool_code|program)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_CODE_KEYS = ("code", "program", "python", "script", "source", "python_code")
_NESTED_KEYS = ("arguments", "input", "parameters", "args", "params")
_PROSE = re.compile(r"[ \t]*[A-Z][\w ,'’\-/()`.:!]*[.:!]?[ \t]*")
MOST_PROSE_LINES = 12


def take_from_fences(text: str) -> str | None:
    """Returns the Python in Markdown fences: all blocks in order, without the prose around them."""
    if "```" not in text and "~~~" not in text:
        return None
    blocks = [body for tag, body in _FENCE.findall(text) if tag.lower() in _PYTHON_TAGS]
    if not blocks:
        blocks = _INLINE_FENCE.findall(text)
    return "\n".join(block.rstrip("\n") for block in blocks) + "\n" if blocks else None


def take_from_tags(text: str) -> str | None:
    """Returns what stands between tags such as ``<code>`` and ``</code>``."""
    blocks = [body.strip("\n") for _, body in _TAG.findall(text)]
    return "\n".join(blocks) if blocks else None


def take_from_json(text: str) -> str | None:
    """Returns the program inside of JSON: an object with ``code``, or an array of lines."""
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    try:
        value: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return _find_code(value, depth=3)


def _find_code(value: Any, depth: int) -> str | None:
    if isinstance(value, str):
        return value if "\n" in value or "(" in value else None
    if isinstance(value, list):
        lines = cast("list[Any]", value)
        return "\n".join(lines) if lines and all(isinstance(line, str) for line in lines) else None
    if not isinstance(value, dict) or depth == 0:
        return None
    table = cast("dict[str, Any]", value)
    for key in _CODE_KEYS:
        found = table.get(key)
        if isinstance(found, str):
            return found
        if isinstance(found, list):
            return _find_code(found, depth - 1)
    return next((found for key in _NESTED_KEYS if (found := _find_code(table.get(key), depth - 1)) is not None), None)


def drop_prose(text: str) -> str | None:
    """Returns the text without sentences before and after the program."""
    lines = text.splitlines()
    start, end = _count_prose(lines), len(lines) - _count_prose(reversed(lines))
    return "\n".join(lines[start:end]) if (start or end < len(lines)) and start < end else None


def _count_prose(lines: Iterable[str]) -> int:
    """Counts the lines up to the last sentence before the first line of code."""
    found = 0
    for count, line in enumerate(islice(lines, MOST_PROSE_LINES), 1):
        if line.strip() and not (_PROSE.fullmatch(line) and " " in line.strip()):
            break
        found = count if line.strip() else found
    return found
