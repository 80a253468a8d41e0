"""Learns result types from real results: keeps types, field names and states, never a value that could be personal.

A shape is a value that is merged call by call. Objects whose keys look like data are learned as maps: keys can be personal too.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.catalog.learned.safe_words import has_field_word, is_state_text
from gristmill.model import Json

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
# No dots or blanks, an at-sign only in front, no run of four digits: an id, an address or a date is data, not a field name.
_FIELD_NAME = re.compile(r"(?!.*\d{4})[A-Za-z_$@][A-Za-z0-9_$:-]{0,47}")
_HEX = re.compile(r"(?=.*\d)[0-9a-fA-F-]{8,}")


class ResultShape(Struct, frozen=True, kw_only=True):
    """What was seen at one place in the results: how often each JSON type occurred, and the shapes inside."""

    kinds: Mapping[str, int] = field(default_factory=dict[str, int])
    fields: Mapping[str, "ResultShape"] = field(default_factory=dict[str, "ResultShape"])
    values: "ResultShape | None" = None
    """Set once the objects here are treated as maps; ``fields`` then stays empty."""
    items: "ResultShape | None" = None
    content: "ResultShape | None" = None
    """The shape of the JSON that the strings here contain."""
    states: Mapping[str, int] | None = None
    """Strings seen here, as long as they are few and all plain words for states; once None, it stays None."""


class LearnedResult(Struct, frozen=True, kw_only=True):
    """The shape of a tool's results, and the number of calls it was learned from."""

    calls: int
    shape: ResultShape


def observe_result(learned: LearnedResult | None, result: Json) -> LearnedResult:
    """Returns ``learned`` extended by one more result."""
    seen = _Observer().read_shape(decode_json_text(result) if isinstance(result, str) else result)
    if learned is None:
        return LearnedResult(calls=1, shape=seen)
    return LearnedResult(calls=learned.calls + 1, shape=merge_shapes(learned.shape, seen))


def decode_json_text(text: str) -> Json:
    """Returns the content of ``text`` if it is a JSON object or array, else ``text`` itself."""
    if len(text) > MAX_TEXT or text[:200].lstrip()[:1] not in ("{", "["):
        return text
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text


def merge_shapes(one: ResultShape, two: ResultShape) -> ResultShape:
    """Merges two shapes into one that covers both."""
    if (one.values is None) != (two.values is None):
        one, two = _convert_to_map(one), _convert_to_map(two)
    kinds = {kind: one.kinds.get(kind, 0) + two.kinds.get(kind, 0) for kind in {**one.kinds, **two.kinds}}
    names = {**one.fields, **two.fields}
    merged = ResultShape(
        kinds=kinds,
        fields={name: _merge_optional(one.fields.get(name), two.fields.get(name)) or ResultShape() for name in names},
        values=_merge_optional(one.values, two.values),
        items=_merge_optional(one.items, two.items),
        content=_merge_optional(one.content, two.content),
        states=_merge_states(one, two),
    )
    return _convert_to_map(merged) if _has_changing_keys(merged) else merged


class _Observer:
    """One walk over one result, within a budget; values beyond the budget are not learned from."""

    def __init__(self) -> None:
        self._nodes_left = MAX_NODES

    def read_shape(self, value: Json, depth: int = 0) -> ResultShape:
        self._nodes_left -= 1
        kind = "null" if value is None else _KINDS.get(type(cast("object", value)))
        if kind is None or self._nodes_left < 0 or depth > MAX_DEPTH:
            return ResultShape()
        shape = ResultShape(kinds={kind: 1})
        if kind == "string":
            return self._read_text(shape, cast("str", value), depth)
        if kind == "array":
            return replace(shape, items=self._merge_all(_sample_evenly(cast("list[Json]", value)), depth))
        if kind == "object":
            return self._read_entries(shape, cast("dict[str, Json]", value), depth)
        return shape

    def _read_text(self, shape: ResultShape, text: str, depth: int) -> ResultShape:
        held = decode_json_text(text) if depth < MAX_DEPTH else text
        if not isinstance(held, str):
            return replace(shape, content=self.read_shape(held, depth + 1))
        return replace(shape, states={text: 1}) if is_state_text(text) else shape

    def _read_entries(self, shape: ResultShape, entries: Mapping[str, Json], depth: int) -> ResultShape:
        if not looks_like_a_record(entries):
            return replace(shape, values=self._merge_all(_sample_evenly(list(entries.values())), depth) or ResultShape())
        return replace(shape, fields={name: self.read_shape(value, depth + 1) for name, value in entries.items()})

    def _merge_all(self, values: Sequence[Json], depth: int) -> ResultShape | None:
        found: ResultShape | None = None
        for value in values:
            found = _merge_optional(found, self.read_shape(value, depth + 1))
        return found


def looks_like_a_record(entries: Mapping[str, Json]) -> bool:
    """Returns whether the keys are field names rather than data; in doubt they are data, since data may be personal."""
    if len(entries) > MAX_FIELDS or not all(_FIELD_NAME.fullmatch(key) and not _HEX.fullmatch(key) for key in entries):
        return False
    present = [value for value in entries.values() if value is not None]
    known = sum(map(has_field_word, entries))
    # Values under data keys are all of one kind; fields differ in kind, or have names with words that field names have.
    if len({_describe_kind(value) for value in present}) > 1:
        return 4 * known >= len(entries)
    return 2 * known >= len(entries) and not (len(present) > 1 and isinstance(present[0], dict))


def _describe_kind(value: Json) -> str:
    """Returns the kind of a value; objects include their keys, and integers and floats are the same kind."""
    if isinstance(value, dict):
        return "object " + " ".join(sorted(cast("dict[str, Json]", value)))
    return "number" if isinstance(value, float) else _KINDS.get(type(cast("object", value)), "other").replace("integer", "number")


def _sample_evenly(values: list[Json]) -> list[Json]:
    step = -(-len(values) // MAX_ITEMS)
    return values[::step] if step > 1 else values


def _convert_to_map(shape: ResultShape) -> ResultShape:
    values = shape.values
    for inner in shape.fields.values():
        values = _merge_optional(values, inner)
    return replace(shape, fields={}, values=values or ResultShape())


def _has_changing_keys(shape: ResultShape) -> bool:
    """Returns whether new keys keep coming: then they are data."""
    objects, keys = shape.kinds.get("object", 0), len(shape.fields)
    if keys <= 8 or objects < 4:
        return False
    each = sum(sum(inner.kinds.values()) for inner in shape.fields.values()) / objects
    return keys > MAX_FIELDS or each < keys / 3


def _merge_optional(one: ResultShape | None, two: ResultShape | None) -> ResultShape | None:
    return merge_shapes(one, two) if one and two else one or two


def _merge_states(one: ResultShape, two: ResultShape) -> Mapping[str, int] | None:
    found: dict[str, int] = {}
    for shape in (one, two):
        if shape.states is None and shape.kinds.get("string"):
            return None
        for state, count in (shape.states or {}).items():
            found[state] = found.get(state, 0) + count
    return found if 0 < len(found) <= MAX_STATES else None
