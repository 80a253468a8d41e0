"""Result types learned from real results: kinds, fields, and states are kept, never a value that could be personal.

A shape is a value, merged call by call. Objects whose keys look like data are learned as maps: keys can leak too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import cast

import msgspec

from gristmill.catalog.learned.safe_words import is_state, speaks_of_fields
from gristmill.model import Json
from gristmill.values import dataclass

MAX_DEPTH = 8
MAX_NODES = 5_000
MAX_ITEMS = 100
MAX_FIELDS = 64
MAX_STATES = 8
MAX_TEXT = 8_000_000

_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    dict: "object",
    list: "array",
}
# No dots, blanks or at-signs, no run of digits: an id, an address or a date is data, not the name of a field.
_FIELD_NAME = re.compile(r"(?!.*\d{4})[A-Za-z_$@][A-Za-z0-9_$:-]{0,47}")
_HEX = re.compile(r"(?=.*\d)[0-9a-fA-F-]{8,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What was seen in one place: how often each JSON type, and the shapes inside."""

    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    fields: Mapping[str, "Shape"] = field(default_factory=dict[str, "Shape"])
    values: "Shape | None" = None
    """Set once the objects here are taken for maps; then ``fields`` is empty for good."""
    items: "Shape | None" = None
    content: "Shape | None" = None
    """The shape of the JSON that strings here hold."""
    states: Mapping[str, int] | None = None
    """Strings seen here, as long as all are plain words for states and few; None is for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The shape of a tool's results and the number of calls it rests on."""

    calls: int
    shape: Shape


def observe(learned: Learned | None, result: Json) -> Learned:
    """``learned`` and one more result."""
    seen = _Observer().shape(json_text(result) if isinstance(result, str) else result)
    if learned is None:
        return Learned(calls=1, shape=seen)
    return Learned(calls=learned.calls + 1, shape=merge(learned.shape, seen))


def json_text(text: str) -> Json:
    """What ``text`` holds if it is a JSON object or array, else ``text`` itself."""
    if len(text) > MAX_TEXT or text[:200].lstrip()[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


def merge(one: Shape, two: Shape) -> Shape:
    """The shape of both."""
    if (one.values is None) != (two.values is None):
        one, two = _as_map(one), _as_map(two)
    kinds = {kind: one.kinds.get(kind, 0) + two.kinds.get(kind, 0) for kind in {**one.kinds, **two.kinds}}
    names = {**one.fields, **two.fields}
    merged = Shape(
        kinds=kinds,
        fields={name: _merge_optional(one.fields.get(name), two.fields.get(name)) or Shape() for name in names},
        values=_merge_optional(one.values, two.values),
        items=_merge_optional(one.items, two.items),
        content=_merge_optional(one.content, two.content),
        states=_merge_states(one, two),
    )
    return _as_map(merged) if _keys_churn(merged) else merged


class _Observer:
    """One walk over one result within a budget; what lies beyond it is not learned from."""

    def __init__(self) -> None:
        self._nodes = MAX_NODES

    def shape(self, value: Json, depth: int = 0) -> Shape:
        self._nodes -= 1
        kind = "null" if value is None else _KINDS.get(type(cast("object", value)))
        if kind is None or self._nodes < 0 or depth > MAX_DEPTH:
            return Shape()
        shape = Shape(kinds={kind: 1})
        if kind == "string":
            return self._text(shape, cast("str", value), depth)
        if kind == "array":
            return replace(shape, items=self._all(_sample(cast("list[Json]", value)), depth))
        if kind == "object":
            return self._entries(shape, cast("dict[str, Json]", value), depth)
        return shape

    def _text(self, shape: Shape, text: str, depth: int) -> Shape:
        held = json_text(text) if depth < MAX_DEPTH else text
        if not isinstance(held, str):
            return replace(shape, content=self.shape(held, depth + 1))
        return replace(shape, states={text: 1}) if is_state(text) else shape

    def _entries(self, shape: Shape, entries: Mapping[str, Json], depth: int) -> Shape:
        if not looks_like_a_record(entries):
            return replace(shape, values=self._all(_sample(list(entries.values())), depth) or Shape())
        return replace(shape, fields={name: self.shape(value, depth + 1) for name, value in entries.items()})

    def _all(self, values: Sequence[Json], depth: int) -> Shape | None:
        found: Shape | None = None
        for value in values:
            found = _merge_optional(found, self.shape(value, depth + 1))
        return found


def looks_like_a_record(entries: Mapping[str, Json]) -> bool:
    """Whether the keys are names of fields rather than data; in doubt they are data, since data may be personal."""
    if len(entries) > MAX_FIELDS or not all(_FIELD_NAME.fullmatch(key) and not _HEX.fullmatch(key) for key in entries):
        return False
    present = [value for value in entries.values() if value is not None]
    known = sum(map(speaks_of_fields, entries))
    # Values under data keys are all of one kind; fields differ, or speak of what fields speak of.
    if len({_outline(value) for value in present}) > 1:
        return 4 * known >= len(entries)
    return 2 * known >= len(entries) and not (len(present) > 1 and isinstance(present[0], dict))


def _outline(value: Json) -> str:
    """The kind of a value; for objects with their keys, for numbers without the point."""
    if isinstance(value, dict):
        return "object " + " ".join(sorted(cast("dict[str, Json]", value)))
    return "number" if isinstance(value, float) else _KINDS.get(type(cast("object", value)), "other").replace("integer", "number")


def _sample(values: list[Json]) -> list[Json]:
    step = -(-len(values) // MAX_ITEMS)
    return values[::step] if step > 1 else values


def _as_map(shape: Shape) -> Shape:
    values = shape.values
    for inner in shape.fields.values():
        values = _merge_optional(values, inner)
    return replace(shape, fields={}, values=values or Shape())


def _keys_churn(shape: Shape) -> bool:
    """Whether new keys keep coming: then they are data."""
    objects, keys = shape.kinds.get("object", 0), len(shape.fields)
    if keys <= 8 or objects < 4:
        return False
    each = sum(sum(inner.kinds.values()) for inner in shape.fields.values()) / objects
    return keys > MAX_FIELDS or each < keys / 3


def _merge_optional(one: Shape | None, two: Shape | None) -> Shape | None:
    return merge(one, two) if one and two else one or two


def _merge_states(one: Shape, two: Shape) -> Mapping[str, int] | None:
    found: dict[str, int] = {}
    for shape in (one, two):
        if shape.states is None and shape.kinds.get("string"):
            return None
        for state, count in (shape.states or {}).items():
            found[state] = found.get(state, 0) + count
    return found if 0 < len(found) <= MAX_STATES else None
