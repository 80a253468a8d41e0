"""Reads JSON with comments and keeps the place of everything in the text, so that an edit can leave the rest as it is."""

import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

MAX_DEPTH = 100

_BLANK = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_PLAIN = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class UnreadableError(Exception):
    """The text is not JSON (comments and trailing commas are allowed); ``line`` says where."""

    def __init__(self, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}")


class JsonMember(Struct, frozen=True, kw_only=True):
    """A key of an object: where it begins, its value, and where the comma after it ends (-1 if there is none)."""

    start: int
    node: "JsonNode"
    comma: int = -1


class JsonNode(Struct, frozen=True, kw_only=True):
    """A value and its place in the text. Only objects have ``members``."""

    start: int
    end: int
    value: Any
    members: Mapping[str, JsonMember] | None = field(default=None)


def scan_json(text: str) -> JsonNode:
    """Returns the one value in ``text``.

    Raises:
        UnreadableError: the text is not JSON.
    """
    start = skip_blanks(text, 0)
    node = _scan_value(text, start, 0)
    if skip_blanks(text, node.end) != len(text):
        raise UnreadableError(text, node.end)
    return node


def skip_blanks(text: str, at: int) -> int:
    """Returns where the spaces and comments that start at ``at`` end."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _scan_value(text: str, at: int, depth: int) -> JsonNode:
    if depth > MAX_DEPTH:
        raise UnreadableError(text, at)
    letter = text[at : at + 1]
    if letter == "{":
        return _scan_object(text, at, depth)
    if letter == "[":
        return _scan_array(text, at, depth)
    found = (_STRING if letter == '"' else _PLAIN).match(text, at)
    if not found:
        raise UnreadableError(text, at)
    try:
        return JsonNode(start=at, end=found.end(), value=json.loads(found[0], strict=False))
    except ValueError:
        raise UnreadableError(text, at) from None


def _scan_object(text: str, start: int, depth: int) -> JsonNode:
    members: dict[str, JsonMember] = {}
    value: dict[str, Any] = {}
    at = skip_blanks(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        colon = skip_blanks(text, key.end()) if key else at
        if not key or text[colon : colon + 1] != ":":
            raise UnreadableError(text, at)
        node = _scan_value(text, skip_blanks(text, colon + 1), depth + 1)
        comma = _find_comma_end(text, node.end, "}")
        name = json.loads(key[0], strict=False)
        members[name] = JsonMember(start=at, node=node, comma=comma)
        value[name] = node.value
        at = skip_blanks(text, max(comma, node.end))
    return JsonNode(start=start, end=at + 1, value=value, members=members)


def _scan_array(text: str, start: int, depth: int) -> JsonNode:
    value: list[Any] = []
    at = skip_blanks(text, start + 1)
    while text[at : at + 1] != "]":
        node = _scan_value(text, at, depth + 1)
        value.append(node.value)
        at = skip_blanks(text, max(_find_comma_end(text, node.end, "]"), node.end))
    return JsonNode(start=start, end=at + 1, value=value)


def _find_comma_end(text: str, at: int, closing: str) -> int:
    """Returns where the comma after a value ends; -1 if the value is the last."""
    at = skip_blanks(text, at)
    if text[at : at + 1] == ",":
        return at + 1
    if text[at : at + 1] != closing:
        raise UnreadableError(text, at)
    return -1
