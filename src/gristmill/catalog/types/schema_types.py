"""Turns JSON Schema into type values. Never raises, never fetches: parts too big, too deep or not understood become ``any``."""

import builtins
import json
import keyword
import re
from collections.abc import Collection, Mapping
from typing import cast

from msgspec import Struct

from gristmill.catalog.types.schema_refs import Schema, follow_references, read_strings, resolve_reference
from gristmill.catalog.types.type_tree import (
    ANY,
    ANY_MAP,
    NEVER,
    NULL,
    Constant,
    ListOf,
    MapOf,
    NamedType,
    OneOf,
    PlainType,
    RecordField,
    RecordType,
    TupleOf,
    Type,
    make_union,
)
from gristmill.catalog.visible_text import clean_to_one_line
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json

MAX_DEPTH = 12
MAX_NODES = 3_000
MAX_RECORDS = 120
MAX_FIELDS = 256
MAX_MEMBERS = 24
MAX_CONSTANTS = 40
MAX_CONSTANT_LENGTH = 120

_SCALARS: dict[str, Type] = {
    "string": PlainType("string"),
    "integer": PlainType("integer"),
    "number": PlainType("number"),
    "boolean": PlainType("boolean"),
    "null": NULL,
}
_RESERVED = frozenset(
    {*keyword.kwlist, *dir(builtins), "Any", "Literal", "Never", "NotRequired", "TypedDict"}
    | {"Array", "Boolean", "Date", "Function", "Number", "Object", "Promise", "Record", "String", "Symbol", "Type"}
)
_IMPLIED = {"properties": "object", "additionalProperties": "object", "items": "array", "prefixItems": "array"}
_HINTS = frozenset({"format", "minimum", "maximum", "default"})
_WORDS = re.compile(r"[A-Za-z0-9]+")


class TypedSchema(Struct, frozen=True, kw_only=True):
    """A type and the records it refers to; records without references come first."""

    type: Type
    records: tuple[RecordType, ...] = ()


def read_schema(schema: Json, *, name: str, taken: Collection[str] = ()) -> TypedSchema:
    """Returns the type that ``schema`` describes; records are named after ``name`` and get names that are not in ``taken``."""
    reader = SchemaReader(as_mapping(schema), taken=taken)
    found = reader.read(schema, name)
    return TypedSchema(type=found, records=reader.records)


def make_type_name(text: str) -> str:
    """Returns ``text`` in the spelling of a class: ``search-issues`` becomes ``SearchIssues``."""
    joined = "".join(word[0].upper() + word[1:] for word in _WORDS.findall(text[:200]))[:48]
    return joined if joined and not joined[0].isdigit() else f"Type{joined}"


def describe_schema(schema: Json) -> str:
    """Returns the description on one line, with the format, the bounds and the default that the type cannot express."""
    found = as_mapping(schema)
    description = found.get("description")
    parts = [clean_to_one_line(description, limit=400)] if isinstance(description, str) else []
    if not _HINTS.isdisjoint(found):
        hints = [f"{key} {_shorten_value(found[key])}" for key in found if key in _HINTS]
        parts.append(f"({', '.join(hints)})")
    return " ".join(parts).strip()


class SchemaReader:
    """One walk over one schema: its budget, the records found so far, and the references being read."""

    def __init__(self, root: Schema, *, taken: Collection[str] = ()) -> None:
        self._root = root
        self._taken_names = set(taken)
        self._nodes_left = MAX_NODES
        self._claimed_count = 0
        self._records: dict[str, RecordType] = {}
        self._types_by_reference: dict[str, Type] = {}
        self._references_being_read: set[str] = set()

    @property
    def records(self) -> tuple[RecordType, ...]:
        """The records found so far, in an order in which only a type that contains itself refers ahead."""
        return tuple(self._records.values())

    def read(self, schema: Json, hint: str, depth: int = 0) -> Type:
        """Returns the type of ``schema``; ``hint`` becomes its name if it is a record."""
        self._nodes_left -= 1
        if schema is False:
            return NEVER
        if not isinstance(schema, dict) or self._nodes_left < 0 or depth > MAX_DEPTH:
            return ANY
        found = as_mapping(cast("Json", schema))
        if "$ref" in found:
            return self._read_reference(found["$ref"], hint, depth)
        base = self._read_shape(found, hint, depth)
        return make_union([base, NULL]) if found.get("nullable") is True else base

    def read_record(self, name: str, fields: Mapping[str, Json], required: Collection[str], depth: int) -> NamedType:
        """Reads ``fields`` into a record of that name, which must come from `_claim_name`."""
        read = tuple(
            RecordField(
                name=key,
                type=self.read(value, f"{name} {key}", depth + 1),
                required=key in required,
                doc=describe_schema(value),
            )
            for key, value in list(fields.items())[:MAX_FIELDS]
        )
        self._records[name] = RecordType(name=name, fields=read)
        return NamedType(name)

    def _read_reference(self, reference: Json, hint: str, depth: int) -> Type:
        if not isinstance(reference, str):
            return ANY
        if reference in self._types_by_reference:
            return self._types_by_reference[reference]
        # A reference that is still being read contains itself; if it is not a record, it has no name to refer to.
        if reference in self._references_being_read:
            return ANY
        target = as_mapping(resolve_reference(self._root, reference))
        last = reference.rpartition("/")[2]
        name = last if not last.isdecimal() and last not in ("#", "items") else hint
        if self._is_record(target):
            return self._read_named_record(reference, target, name, depth)
        self._references_being_read.add(reference)
        found = self.read(resolve_reference(self._root, reference), name, depth + 1)
        self._references_being_read.discard(reference)
        return found

    def _read_named_record(self, reference: str, target: Schema, hint: str, depth: int) -> Type:
        name = self._claim_name(hint)
        self._types_by_reference[reference] = NamedType(name)
        found: Type = self.read_record(name, as_mapping(target.get("properties")), read_strings(target.get("required")), depth)
        if "null" in read_strings(target.get("type")):
            found = self._types_by_reference[reference] = make_union([found, NULL])
        return found

    def _is_record(self, schema: Schema) -> bool:
        return bool(as_mapping(schema.get("properties"))) and "allOf" not in schema and self._claimed_count < MAX_RECORDS

    def _read_shape(self, schema: Schema, hint: str, depth: int) -> Type:
        if "const" in schema:
            return _read_constants([schema["const"]])
        if as_list(schema.get("enum")):
            return _read_constants(as_list(schema["enum"]))
        if "allOf" in schema:
            return self._read_all_of(schema, hint, depth)
        if self._is_record(schema):
            found = self.read_record(
                self._claim_name(hint), as_mapping(schema["properties"]), read_strings(schema.get("required")), depth
            )
            return make_union([found, NULL]) if "null" in read_strings(schema.get("type")) else found
        members = as_list(schema.get("anyOf")) or as_list(schema.get("oneOf"))
        if members:
            found = make_union([self.read(member, hint, depth + 1) for member in members[:MAX_MEMBERS]])
            if len(members) <= MAX_MEMBERS and (found != ANY or "type" not in schema):
                return found
        return self._read_typed(schema, hint, depth)

    def _read_typed(self, schema: Schema, hint: str, depth: int) -> Type:
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return make_union([self._read_kind(kind, schema, hint, depth) for kind in read_strings(kinds)[:7]])
        if kinds is None:
            kinds = next((kind for keyword, kind in _IMPLIED.items() if keyword in schema), None)
        return self._read_kind(kinds, schema, hint, depth)

    def _read_kind(self, kind: Json, schema: Schema, hint: str, depth: int) -> Type:
        if kind == "array":
            return self._read_array(schema, hint, depth)
        if kind == "object":
            # No type that is generated can check patterns on keys, so the values may be anything.
            extra = schema.get("additionalProperties")
            known = isinstance(extra, dict) and not schema.get("patternProperties")
            return MapOf(self.read(extra, hint + " value", depth + 1)) if known else ANY_MAP
        return _SCALARS.get(kind, ANY) if isinstance(kind, str) else ANY

    def _read_array(self, schema: Schema, hint: str, depth: int) -> Type:
        items = schema.get("items", True)
        places = as_list(schema.get("prefixItems")) or as_list(items)
        if not places:
            return ListOf(self.read(items, hint + " item", depth + 1))
        read = [self.read(place, f"{hint} item{index}", depth + 1) for index, place in enumerate(places[:MAX_MEMBERS])]
        closed = False in (schema.get("items"), schema.get("additionalItems")) or schema.get("maxItems") == len(places)
        return TupleOf(tuple(read)) if closed and len(places) <= MAX_MEMBERS else ListOf(make_union(read))

    def _read_all_of(self, schema: Schema, hint: str, depth: int) -> Type:
        """Merges objects into one record; for other types returns the first part that is not ``any``."""
        parts = [{key: value for key, value in schema.items() if key != "allOf"}]
        parts += [dict(follow_references(self._root, part)) for part in as_list(schema["allOf"])[:MAX_MEMBERS]]
        fields: dict[str, Json] = {}
        required: list[str] = []
        for part in parts:
            fields.update(as_mapping(part.get("properties")))
            required += read_strings(part.get("required"))
        if fields and self._claimed_count < MAX_RECORDS:
            return self.read_record(self._claim_name(hint), fields, required, depth)
        found = (self.read(part, hint, depth + 1) for part in parts)
        return next((kind for kind in found if kind not in (ANY, ANY_MAP)), ANY_MAP if schema.get("type") == "object" else ANY)

    def _claim_name(self, hint: str) -> str:
        plain = name = make_type_name(hint)
        number = 1
        while name in self._taken_names or name in _RESERVED:
            number += 1
            name = f"{plain}{number}"
        self._taken_names.add(name)
        self._claimed_count += 1
        return name


def _read_constants(values: list[Json]) -> Type:
    """Returns a `OneOf` if that is short and possible, else the types of the values."""
    plain = [value for value in values if _is_constant(value)]
    if len(plain) == len(values) <= MAX_CONSTANTS:
        return OneOf(tuple(cast("list[Constant]", plain)))
    return make_union([_find_type(value) for value in values[:1_000]])


def _is_constant(value: Json) -> bool:
    return (isinstance(value, str) and len(value) <= MAX_CONSTANT_LENGTH) or value is None or isinstance(value, int)


def _find_type(value: Json) -> Type:
    kinds: dict[type, Type] = {
        str: _SCALARS["string"],
        bool: _SCALARS["boolean"],
        int: _SCALARS["integer"],
        float: _SCALARS["number"],
        dict: ANY_MAP,
        list: ListOf(ANY),
    }
    return NULL if value is None else kinds.get(type(cast("object", value)), ANY)


def _shorten_value(value: Json) -> str:
    # A description must not repeat a huge default; ASCII escapes show characters that would be invisible.
    text = value if isinstance(value, str) and value.isascii() and value.isprintable() else json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:59] + "…"
