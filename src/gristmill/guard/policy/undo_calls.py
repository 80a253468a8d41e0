"""Parses how the call of a tool is undone: ``crm.delete(id=result.id)``. It never runs as Python code.

A value is a JSON literal, a place in the result (``result.items[0].id``) or in the arguments (``arguments.name``) of the call
that is undone. A server chooses what stands there, so only short texts, numbers and booleans are taken from it.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from gristmill.errors import ConfigError
from gristmill.model import Json

MOST_ARGUMENTS = 20
MOST_PARTS = 20
"""The longest path into a result."""
MOST_CHARACTERS = 1_000
"""The longest text that is taken from a result."""

_CALL = re.compile(r"\s*([^\s()=,\"'.]+\.[^\s()=,\"']+)\s*\(\s*")
_ARGUMENT = re.compile(r"([^\W\d]\w*)\s*=\s*")
_SOURCE = re.compile(r"(result|arguments)(?!\w)")
_PART = re.compile(r"""\.(?P<name>[^\W\d]\w*)|\[(?P<index>\d{1,6})\]|\["(?P<key>[^"\\]{1,200})"\]""")
_LITERAL = re.compile(r"""-?\d[\d.eE+-]*|"(?:[^"\\]|\\.)*"|true|false|null""")
_NEXT = re.compile(r"\s*,\s*")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_END = re.compile(r"\s*\)\s*$")


class CannotUndo(Exception):
    """The undoing call of a write cannot be built; the message says why."""


class _Place(Struct, frozen=True):
    """A place in the result, or in the arguments, of the call that is undone."""

    source: str
    path: tuple[str | int, ...]
    text: str


class UndoCall(Struct, frozen=True):
    """The call that undoes another one: its tool, and where each of its arguments comes from."""

    text: str
    tool: str
    values: Mapping[str, Json]

    @classmethod
    def parse(cls, text: str) -> "UndoCall":
        """Parses ``text``.

        Raises:
            ConfigError: the text is not such a call; the error says where, and what was expected there.
        """
        call = _CALL.match(text)
        if call is None:
            raise _build_error(text, 0, "`server.tool(`")
        values, place = dict[str, Json](), call.end()
        while not (_END.match(text, place) and not values):
            name = _ARGUMENT.match(text, place)
            if name is None or name[1] in values or len(values) >= MOST_ARGUMENTS:
                raise _build_error(text, place, "`name=` of another argument")
            values[name[1]], place = _parse_value(text, name.end())
            if _END.match(text, place):
                break
            after = _NEXT.match(text, place)
            if after is None:
                raise _build_error(text, place, "`,` or `)`")
            place = after.end()
        return cls(text.strip(), call[1], values)

    def build_arguments(self, *, result: Json, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Returns the arguments of the undoing call.

        Raises:
            CannotUndo: a value is missing, or is none that may be sent.
        """
        found = {"result": result, "arguments": arguments}
        return {
            name: _take_value(found[value.source], value) if isinstance(value, _Place) else value
            for name, value in self.values.items()
        }


def _parse_value(text: str, place: int) -> tuple[Json, int]:
    source = _SOURCE.match(text, place)
    if source is None:
        return _parse_literal(text, place)
    path, end = list[str | int](), source.end()
    while (part := _PART.match(text, end)) is not None:
        path.append(int(part["index"]) if part["index"] is not None else part["name"] or part["key"])
        end = part.end()
    if len(path) > MOST_PARTS or (source[1] == "arguments" and not path):
        raise _build_error(text, place, f"a path of 1 to {MOST_PARTS} parts")
    return _Place(source[1], tuple(path), text[place:end]), end


def _parse_literal(text: str, place: int) -> tuple[Json, int]:
    literal = _LITERAL.match(text, place)
    if literal is not None:
        try:
            return json.loads(literal[0]), literal.end()
        except ValueError:
            pass
    raise _build_error(text, place, "a JSON literal, `result.PATH` or `arguments.NAME`")


def _take_value(holder: Any, place: _Place) -> Json:
    """Returns the value at a place. A text has no parts, and neither lists nor objects are sent on: they may hold anything."""
    value = _find_value(holder, place.path)
    if isinstance(value, str) and 0 < len(value) <= MOST_CHARACTERS and not _LONE_SURROGATE.search(value):
        return value
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**63):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise CannotUndo(f"there is no short text, number or boolean at {place.text}")


def _find_value(value: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        holder: type = dict if isinstance(part, str) else list
        if not isinstance(value, holder):
            return None
        try:
            value = value[part]
        except (KeyError, IndexError):
            return None
    return value


def _build_error(text: str, place: int, expected: str) -> ConfigError:
    seen = repr(text[place : place + 20]) if text[place:].strip() else "its end"
    return ConfigError(f"the undo {text[:200]!r} has {seen} where {expected} is expected")


def read_undos(revert: Mapping[str, str]) -> dict[str, UndoCall]:
    """Parses the undo of each tool.

    Raises:
        ConfigError: one cannot be parsed.
    """
    return dict(_parse_undos(revert))


def _parse_undos(revert: Mapping[str, str]) -> Iterator[tuple[str, UndoCall]]:
    for tool, text in revert.items():
        try:
            yield tool, UndoCall.parse(text)
        except ConfigError as error:
            raise ConfigError(f"policy.revert.{tool!r}: {error}") from None
