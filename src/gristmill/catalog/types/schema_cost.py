"""Estimates what a check costs before it runs.

Two kB of schema whose branches multiply can take minutes, and a deep value under a recursive schema overflows the
validator's stack, which ends the process.
"""

from collections.abc import Iterator
from itertools import chain

from gristmill.catalog.types.schema_refs import Schema, resolve_reference
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json

MAX_VISITS = 1_000
MAX_TARGETS = 64
MAX_VALUE_DEPTH = 200
MAX_STACK = 5_000
ANY_DEPTH = 1 << 30
"""No limit: a schema that does not contain itself never looks deeper into a value than the schema itself is deep."""

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLES = ("not", "if", "then", "else")
_PARTS = (
    "items",
    "additionalItems",
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "propertyNames",
)
_PART_MAPS = ("properties", "patternProperties")


def find_allowed_depth(schema: Schema) -> int:
    """Returns how deep a value may be for a safe check against ``schema``; 0 if branches or references multiply."""
    try:
        walk = _Walk(schema)
        visits = walk.visits(schema)
        if visits > MAX_VISITS or walk.opaque or walk.recursion_branches():
            return 0
    except RecursionError:
        return 0
    # Each level of a recursive check goes through every branch again, and the validator keeps all of that on the stack.
    return min(MAX_VALUE_DEPTH, MAX_STACK // visits) if walk.recursive else ANY_DEPTH


def make_shallow_schema(schema: Schema) -> dict[str, Json]:
    """Returns the part of ``schema`` that is always cheap to check: the names and plain types of the first level."""
    kept = {key: schema[key] for key in ("$schema", "type", "required") if key in schema}
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        kept["additionalProperties"] = False
    fields = as_mapping(schema.get("properties"))
    kept["properties"] = {
        name: {k: v for k, v in as_mapping(field).items() if k in ("type", "enum")} for name, field in fields.items()
    }
    return kept


class _Walk:
    """One walk that counts the visits of each schema object once, and collects the objects that contain themselves."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self.opaque = False
        """Whether there are references whose target only the validator knows."""
        self._visits: dict[int, int] = {}
        self.recursive: dict[int, Schema] = {}
        """Schemas that contain themselves."""

    def visits(self, node: Json) -> int:
        """Counts visits: branches on the same value add up; of the parts of a value only the most expensive counts."""
        schema = as_mapping(node)
        mark = id(schema)
        if mark in self._visits:
            if self._visits[mark] == 0:
                self.recursive[mark] = schema
            return self._visits[mark]
        self._visits[mark] = 0
        here = sum(map(self.visits, self._list_branches(schema)))
        inside = max(map(self.visits, _list_parts(schema)), default=0)
        self._visits[mark] = min(1 + here + inside, MAX_VISITS + 1)
        return self._visits[mark]

    def recursion_branches(self) -> bool:
        """Returns whether a schema that contains itself does so in more than one way through the same value."""
        if len(self.recursive) > MAX_TARGETS:
            return True
        return any(self._count_ways(schema, mark, {}) > 1 for mark, schema in self.recursive.items())

    def _count_ways(self, node: Json, goal: int, seen: dict[int, int]) -> int:
        schema = as_mapping(node)
        mark = id(schema)
        if seen and mark == goal:
            return 1
        if mark in seen:
            return seen[mark]
        seen[mark] = 0
        here = sum(self._count_ways(branch, goal, seen) for branch in self._list_branches(schema))
        inside = max((self._count_ways(part, goal, seen) for part in _list_parts(schema)), default=0)
        seen[mark] = here + inside
        return seen[mark]

    def _list_branches(self, schema: Schema) -> Iterator[Json]:
        yield from chain.from_iterable(as_list(schema.get(key)) for key in _LISTS)
        yield from (schema[key] for key in _SINGLES if key in schema)
        yield from chain.from_iterable(as_mapping(schema.get(key)).values() for key in ("dependentSchemas", "dependencies"))
        if "$dynamicRef" in schema or "$recursiveRef" in schema or ("$id" in schema and schema is not self._root):
            self.opaque = True
        if isinstance(reference := schema.get("$ref"), str):
            self.opaque = self.opaque or not (reference == "#" or reference.startswith("#/"))
            yield resolve_reference(self._root, reference)


def _list_parts(schema: Schema) -> Iterator[Json]:
    yield from chain.from_iterable(as_mapping(schema.get(key)).values() for key in _PART_MAPS)
    yield from (schema[key] for key in _PARTS if key in schema)
    yield from as_list(schema.get("prefixItems"))
    yield from as_list(schema.get("items"))
