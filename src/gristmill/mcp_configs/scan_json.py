"""JSON with comments, read with the place of everything in the text, so that an edit can leave the rest as it is."""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from gristmill.values import dataclass

MAX_DEPTH = 100

_BLANK = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_PLAIN = re.compile(r"true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class UnreadableError(Exception):
    """The text is not JSON, comments and trailing commas allowed; ``line`` says where."""

    def __init__(self, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        super().__init__(f"line {self.line}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A key of an object: where it begins, its value, and where the comma after it ends (-1 without one)."""

    start: int
    node: "Node"
    comma: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value and its place. Only objects have ``members``."""

    start: int
    end: int
    value: Any
    members: Mapping[str, Member] | None = field(default=None)


def scan(text: str) -> Node:
    """The one value in ``text``.

    Raises:
        UnreadableError: it is not JSON.
    """
    start = blank(text, 0)
    node = _value(text, start, 0)
    if blank(text, node.end) != len(text):
        raise UnreadableError(text, node.end)
    return node


def blank(text: str, at: int) -> int:
    """Where spaces and comments from ``at`` on end."""
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise UnreadableError(text, at)
    letter = text[at : at + 1]
    if letter == "{":
        return _object(text, at, depth)
    if letter == "[":
        return _array(text, at, depth)
    found = (_STRING if letter == '"' else _PLAIN).match(text, at)
    if not found:
        raise UnreadableError(text, at)
    try:
        return Node(start=at, end=found.end(), value=json.loads(found[0], strict=False))
    except ValueError:
        raise UnreadableError(text, at) from None


def _object(text: str, start: int, depth: int) -> Node:
    members: dict[str, Member] = {}
    value: dict[str, Any] = {}
    at = blank(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        colon = blank(text, key.end()) if key else at
        if not key or text[colon : colon + 1] != ":":
            raise UnreadableError(text, at)
        node = _value(text, blank(text, colon + 1), depth + 1)
        comma = _comma(text, node.end, "}")
        name = json.loads(key[0], strict=False)
        members[name] = Member(start=at, node=node, comma=comma)
        value[name] = node.value
        at = blank(text, max(comma, node.end))
    return Node(start=start, end=at + 1, value=value, members=members)


def _array(text: str, start: int, depth: int) -> Node:
    value: list[Any] = []
    at = blank(text, start + 1)
    while text[at : at + 1] != "]":
        node = _value(text, at, depth + 1)
        value.append(node.value)
        at = blank(text, max(_comma(text, node.end, "]"), node.end))
    return Node(start=start, end=at + 1, value=value)


def _comma(text: str, at: int, closing: str) -> int:
    """Where the comma after a value ends, -1 when the value is the last."""
    at = blank(text, at)
    if text[at : at + 1] == ",":
        return at + 1
    if text[at : at + 1] != closing:
        raise UnreadableError(text, at)
    return -1
