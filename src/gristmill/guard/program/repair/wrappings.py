# ruff: noqa: RUF001 - the characters that look like others are what this file is about
"""Takes a program out of what was put around it: Markdown fences, JSON, tags, prose."""

import ast
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
_FENCE_LINE = re.compile(r"[ \t]*(?:```+|~~~+)[ \t]*[\w+#.-]*[ \t]*")
_TAG = re.compile(
    r"<(code|python|execute|execute_code|script|tool_code|program|tool_call|function_call)>(.*?)(?:</\1>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_SPECIAL_MARKS = re.compile(r"<(think|thinking|reasoning)>.*?</\1>|<\|[\w ]+\|>", re.DOTALL | re.IGNORECASE)
_LANGUAGE_LINE = re.compile(r"\s*(?:python3?|py)[ \t]*\r?\n")
_LABEL = re.compile(r"\s*[A-Za-z]\w*[ \t]*:\s*(?=\{)")
_CODE_KEYS = ("code", "program", "python", "script", "source", "python_code")
_NESTED_KEYS = ("arguments", "input", "parameters", "args", "params")
_PROSE = re.compile(r"[ \t]*(?:[-*•>#]+[ \t]*|\d+[.)][ \t]+)?\**[A-Z][\w ,;'’\-/()`.:!?*\"]*[.:!?]?[ \t]*")
MOST_PROSE_LINES = 12


def take_from_fences(text: str) -> str | None:
    """Returns the Python in Markdown fences: all blocks in order, without the prose and the output around them."""
    if "`" not in text and "~~~" not in text:
        return None
    found = [(tag.lower(), body) for tag, body in _FENCE.findall(text) if body.strip()]
    blocks = [body for tag, body in found if tag in _PYTHON_TAGS]
    if any(tag in _PYTHON_TAGS and tag for tag, _ in found):  # a block without a tag beside one that has it is often its output
        blocks = [body for tag, body in found if tag in _PYTHON_TAGS and (tag or _is_more_than_words(body))]
    blocks = blocks or [code for tag, body in found if tag == "json" and (code := take_from_json(body))]
    blocks = blocks or _INLINE_FENCE.findall(text) or _read_unclosed(text)
    return "\n".join(block.rstrip("\n") for block in blocks) + "\n" if blocks else None


def _read_unclosed(text: str) -> list[str]:
    """Returns the text without a fence that has no other end, or without the single backticks around it."""
    whole = text.strip()
    if whole.startswith("`") and whole.endswith("`") and whole.count("`") == 2:
        return [whole.strip("`")]
    lines = text.splitlines()
    kept = [line for line in lines if not _FENCE_LINE.fullmatch(line)]
    return ["\n".join(kept)] if len(kept) < len(lines) else []


def _is_more_than_words(text: str) -> bool:
    """Returns whether a text is Python that does something; numbers and words are more likely what a program has printed."""
    try:
        statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        not isinstance(each, ast.Expr) or any(isinstance(node, ast.Call) for node in ast.walk(each)) for each in statements
    )


def take_from_tags(text: str) -> str | None:
    """Returns what stands between tags such as ``<code>`` and ``</code>``, without a model's thoughts and special marks."""
    plain = _SPECIAL_MARKS.sub("", text)
    blocks = [body.strip("\n") for _, body in _TAG.findall(plain)]
    return "\n".join(blocks) if blocks else plain if plain != text else None


def drop_language_line(text: str) -> str | None:
    """Returns the text without a first line that only says ``python``."""
    found = _LANGUAGE_LINE.match(text)
    return text[found.end() :] if found else None


def take_from_json(text: str) -> str | None:
    """Returns the program inside of JSON: an object with ``code``, also after a label, or an array of lines."""
    if (label := _LABEL.match(text)) is not None:
        text = text[label.end() :]
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return None
    return _find_code(_read_literal(text), depth=4)


def is_json_object(text: str) -> bool:
    """Returns whether a text is one JSON object."""
    try:
        return isinstance(json.loads(text, strict=False), dict)
    except (ValueError, RecursionError):
        return False


def _read_literal(text: str) -> Any:
    """Returns the value that a text stands for, as JSON, whose last brackets may be missing, or as Python; None for others."""
    for end in ("", "}", "}}"):
        try:
            return json.loads(text + end, strict=False)
        except (ValueError, RecursionError):
            pass
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _find_code(value: Any, depth: int) -> str | None:
    if isinstance(value, str):
        return value if "\n" in value or "(" in value else None
    if depth == 0:
        return None
    if isinstance(value, list):
        return _join_code(cast("list[Any]", value), depth)
    if not isinstance(value, dict):
        return None
    table = cast("dict[Any, Any]", value)
    for key in _CODE_KEYS:
        found = table.get(key)
        if isinstance(found, str):
            return found
        if isinstance(found, list):
            return _find_code(found, depth - 1)
    return next((found for key in _NESTED_KEYS if (found := _find_nested(table.get(key), depth)) is not None), None)


def _join_code(items: list[Any], depth: int) -> str | None:
    """Joins lines of a program, or the programs of several calls."""
    if items and all(isinstance(item, str) for item in items):
        return "\n".join(items)
    programs = [_find_code(item, depth - 1) if isinstance(item, dict) else None for item in items]
    return "\n".join(each for each in programs if each is not None) if programs and None not in programs else None


def _find_nested(value: Any, depth: int) -> str | None:
    """Returns the program in the arguments of a call, which are an object or JSON text."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        return _find_code(_read_literal(value), depth - 1)
    return _find_code(value, depth - 1)


def drop_prose(text: str) -> str | None:
    """Returns the text without sentences before and after the program."""
    lines = text.splitlines()
    start, end = _count_prose(lines), len(lines) - _count_prose(reversed(lines))
    return "\n".join(lines[start:end]) if (start or end < len(lines)) and start < end else None


def _count_prose(lines: Iterable[str]) -> int:
    """Counts the lines up to the last sentence before the first line of code."""
    found = 0
    for count, line in enumerate(islice(lines, MOST_PROSE_LINES), 1):
        if line.strip() and not (_PROSE.fullmatch(line) and (" " in line.strip() or line.rstrip(" *").endswith(":"))):
            break
        found = count if line.strip() else found
    return found
