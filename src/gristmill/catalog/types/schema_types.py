"""JSON Schema → types as values. Never raises, never fetches: what is too big, too deep or not understood is any."""

import builtins
import json
import keyword
import re
from collections.abc import Collection, Mapping
from typing import cast

from gristmill.catalog.types.schema_refs import Schema, follow, listing, mapping, names, resolve
from gristmill.catalog.types.type_tree import (
    ANY,
    ANY_MAP,
    NEVER,
    NULL,
    Constant,
    Field,
    ListOf,
    MapOf,
    Named,
    OneOf,
    Plain,
    Record,
    TupleOf,
    Type,
    union,
)
from gristmill.catalog.visible_text import one_line
from gristmill.model import Json
from gristmill.values import dataclass

MAX_DEPTH = 12
MAX_NODES = 3_000
MAX_RECORDS = 120
MAX_FIELDS = 256
MAX_MEMBERS = 24
MAX_CONSTANTS = 40
MAX_CONSTANT_LENGTH = 120

_SCALARS: dict[str, Type] = {
    "string": Plain("string"),
    "integer": Plain("integer"),
    "number": Plain("number"),
    "boolean": Plain("boolean"),
    "null": NULL,
}
_RESERVED = frozenset(
    {*keyword.kwlist, *dir(builtins), "Any", "Literal", "Never", "NotRequired", "TypedDict"}
    | {"Array", "Boolean", "Date", "Function", "Number", "Object", "Promise", "Record", "String", "Symbol", "Type"}
)
_IMPLIED = {"properties": "object", "additionalProperties": "object", "items": "array", "prefixItems": "array"}
_HINTS = frozenset({"format", "minimum", "maximum", "default"})
_WORDS = re.compile(r"[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A type and the records it refers to, those without references first."""

    type: Type
    records: tuple[Record, ...] = ()


def read_schema(schema: Json, *, name: str, taken: Collection[str] = ()) -> Typed:
    """The type that ``schema`` describes; records are named after ``name`` and differ from those in ``taken``."""
    reader = Reader(mapping(schema), taken=taken)
    found = reader.read(schema, name)
    return Typed(type=found, records=reader.records)


def type_name(text: str) -> str:
    """``text`` in the spelling of a class: ``search-issues`` becomes ``SearchIssues``."""
    joined = "".join(word[0].upper() + word[1:] for word in _WORDS.findall(text[:200]))[:48]
    return joined if joined and not joined[0].isdigit() else f"Type{joined}"


def describe_schema(schema: Json) -> str:
    """The description on one line, with the format, the bounds and the default that the type cannot say."""
    found = mapping(schema)
    description = found.get("description")
    parts = [one_line(description, limit=400)] if isinstance(description, str) else []
    if not _HINTS.isdisjoint(found):
        hints = [f"{key} {_short(found[key])}" for key in found if key in _HINTS]
        parts.append(f"({', '.join(hints)})")
    return " ".join(parts).strip()


class Reader:
    """One walk over one schema: its budget, the records found so far, and the references being read."""

    def __init__(self, root: Schema, *, taken: Collection[str] = ()) -> None:
        self._root = root
        self._taken = set(taken)
        self._nodes = MAX_NODES
        self._claimed = 0
        self._records: dict[str, Record] = {}
        self._named: dict[str, Type] = {}
        self._reading: set[str] = set()

    @property
    def records(self) -> tuple[Record, ...]:
        """The records found so far, in an order in which only a type that contains itself refers ahead."""
        return tuple(self._records.values())

    def read(self, schema: Json, hint: str, depth: int = 0) -> Type:
        """The type of ``schema``; ``hint`` names the record it may turn out to be."""
        self._nodes -= 1
        if schema is False:
            return NEVER
        if not isinstance(schema, dict) or self._nodes < 0 or depth > MAX_DEPTH:
            return ANY
        found = mapping(cast("Json", schema))
        if "$ref" in found:
            return self._reference(found["$ref"], hint, depth)
        base = self._shape(found, hint, depth)
        return union([base, NULL]) if found.get("nullable") is True else base

    def record(self, name: str, fields: Mapping[str, Json], required: Collection[str], depth: int) -> Named:
        """Read ``fields`` into a record of that name, which must come from `_claim`."""
        read = tuple(
            Field(
                name=key,
                type=self.read(value, f"{name} {key}", depth + 1),
                required=key in required,
                doc=describe_schema(value),
            )
            for key, value in list(fields.items())[:MAX_FIELDS]
        )
        self._records[name] = Record(name=name, fields=read)
        return Named(name)

    def _reference(self, reference: Json, hint: str, depth: int) -> Type:
        if not isinstance(reference, str):
            return ANY
        if reference in self._named:
            return self._named[reference]
        # A reference that is being read and is no record contains itself without a name to say so.
        if reference in self._reading:
            return ANY
        target = mapping(resolve(self._root, reference))
        last = reference.rpartition("/")[2]
        name = last if not last.isdecimal() and last not in ("#", "items") else hint
        if self._is_record(target):
            return self._named_record(reference, target, name, depth)
        self._reading.add(reference)
        found = self.read(resolve(self._root, reference), name, depth + 1)
        self._reading.discard(reference)
        return found

    def _named_record(self, reference: str, target: Schema, hint: str, depth: int) -> Type:
        name = self._claim(hint)
        self._named[reference] = Named(name)
        found: Type = self.record(name, mapping(target.get("properties")), names(target.get("required")), depth)
        if "null" in names(target.get("type")):
            found = self._named[reference] = union([found, NULL])
        return found

    def _is_record(self, schema: Schema) -> bool:
        return bool(mapping(schema.get("properties"))) and "allOf" not in schema and self._claimed < MAX_RECORDS

    def _shape(self, schema: Schema, hint: str, depth: int) -> Type:
        if "const" in schema:
            return _constants([schema["const"]])
        if listing(schema.get("enum")):
            return _constants(listing(schema["enum"]))
        if "allOf" in schema:
            return self._all(schema, hint, depth)
        if self._is_record(schema):
            found = self.record(self._claim(hint), mapping(schema["properties"]), names(schema.get("required")), depth)
            return union([found, NULL]) if "null" in names(schema.get("type")) else found
        members = listing(schema.get("anyOf")) or listing(schema.get("oneOf"))
        if members:
            found = union([self.read(member, hint, depth + 1) for member in members[:MAX_MEMBERS]])
            if len(members) <= MAX_MEMBERS and (found != ANY or "type" not in schema):
                return found
        return self._typed(schema, hint, depth)

    def _typed(self, schema: Schema, hint: str, depth: int) -> Type:
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return union([self._kind(kind, schema, hint, depth) for kind in names(kinds)[:7]])
        if kinds is None:
            kinds = next((kind for keyword, kind in _IMPLIED.items() if keyword in schema), None)
        return self._kind(kinds, schema, hint, depth)

    def _kind(self, kind: Json, schema: Schema, hint: str, depth: int) -> Type:
        if kind == "array":
            return self._array(schema, hint, depth)
        if kind == "object":
            # Patterns on keys are not checked by any type we could write, so the values may be anything.
            extra = schema.get("additionalProperties")
            known = isinstance(extra, dict) and not schema.get("patternProperties")
            return MapOf(self.read(extra, hint + " value", depth + 1)) if known else ANY_MAP
        return _SCALARS.get(kind, ANY) if isinstance(kind, str) else ANY

    def _array(self, schema: Schema, hint: str, depth: int) -> Type:
        items = schema.get("items", True)
        places = listing(schema.get("prefixItems")) or listing(items)
        if not places:
            return ListOf(self.read(items, hint + " item", depth + 1))
        read = [self.read(place, f"{hint} item{index}", depth + 1) for index, place in enumerate(places[:MAX_MEMBERS])]
        closed = False in (schema.get("items"), schema.get("additionalItems")) or schema.get("maxItems") == len(places)
        return TupleOf(tuple(read)) if closed and len(places) <= MAX_MEMBERS else ListOf(union(read))

    def _all(self, schema: Schema, hint: str, depth: int) -> Type:
        """Objects are merged into one record; of other types the first that says something counts."""
        parts = [{key: value for key, value in schema.items() if key != "allOf"}]
        parts += [dict(follow(self._root, part)) for part in listing(schema["allOf"])[:MAX_MEMBERS]]
        fields: dict[str, Json] = {}
        required: list[str] = []
        for part in parts:
            fields.update(mapping(part.get("properties")))
            required += names(part.get("required"))
        if fields and self._claimed < MAX_RECORDS:
            return self.record(self._claim(hint), fields, required, depth)
        found = (self.read(part, hint, depth + 1) for part in parts)
        return next((kind for kind in found if kind not in (ANY, ANY_MAP)), ANY_MAP if schema.get("type") == "object" else ANY)

    def _claim(self, hint: str) -> str:
        plain = name = type_name(hint)
        number = 1
        while name in self._taken or name in _RESERVED:
            number += 1
            name = f"{plain}{number}"
        self._taken.add(name)
        self._claimed += 1
        return name


def _constants(values: list[Json]) -> Type:
    """A `OneOf` where that is short and possible, else the types of the values."""
    plain = [value for value in values if _is_constant(value)]
    if len(plain) == len(values) <= MAX_CONSTANTS:
        return OneOf(tuple(cast("list[Constant]", plain)))
    return union([_type_of(value) for value in values[:1_000]])


def _is_constant(value: Json) -> bool:
    return (isinstance(value, str) and len(value) <= MAX_CONSTANT_LENGTH) or value is None or isinstance(value, int)


def _type_of(value: Json) -> Type:
    kinds: dict[type, Type] = {
        str: _SCALARS["string"],
        bool: _SCALARS["boolean"],
        int: _SCALARS["integer"],
        float: _SCALARS["number"],
        dict: ANY_MAP,
        list: ListOf(ANY),
    }
    return NULL if value is None else kinds.get(type(cast("object", value)), ANY)


def _short(value: Json) -> str:
    # A description repeats no megabyte default; ASCII escapes show what would be invisible.
    text = value if isinstance(value, str) and value.isascii() and value.isprintable() else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
