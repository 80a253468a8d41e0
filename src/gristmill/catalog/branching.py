"""How often a validator may look at one place of a value: branches that multiply let 2 kB of schema cost minutes."""

from collections.abc import Iterator
from itertools import chain

from gristmill.catalog.refs import Schema, listing, mapping, resolve
from gristmill.model import Json

MAX_VISITS = 1_000
MAX_TARGETS = 64

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


def multiplies(schema: Schema) -> bool:
    """Whether checking against ``schema`` may take time that grows like a power."""
    try:
        walk = _Walk(schema)
        return walk.visits(schema) > MAX_VISITS or walk.opaque or walk.recursion_branches()
    except RecursionError:
        return True


def shallow(schema: Schema) -> dict[str, Json]:
    """The part of ``schema`` that is always cheap to check: the names and plain types of the first level."""
    kept = {key: schema[key] for key in ("$schema", "type", "required") if key in schema}
    if schema.get("additionalProperties") is False and "patternProperties" not in schema:
        kept["additionalProperties"] = False
    fields = mapping(schema.get("properties"))
    kept["properties"] = {
        name: {k: v for k, v in mapping(field).items() if k in ("type", "enum")} for name, field in fields.items()
    }
    return kept


class _Walk:
    """Visits per schema object, each counted once; the objects that references point to are remembered."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self.opaque = False
        """Whether there are references whose target only the validator knows."""
        self._visits: dict[int, int] = {}
        self._recursive: dict[int, Schema] = {}

    def visits(self, node: Json) -> int:
        """Branches on the same value add up; of the parts of a value only the dearest counts."""
        schema = mapping(node)
        mark = id(schema)
        if mark in self._visits:
            if self._visits[mark] == 0:
                self._recursive[mark] = schema
            return self._visits[mark]
        self._visits[mark] = 0
        here = sum(map(self.visits, self._branches(schema)))
        inside = max(map(self.visits, _parts(schema)), default=0)
        self._visits[mark] = min(1 + here + inside, MAX_VISITS + 1)
        return self._visits[mark]

    def recursion_branches(self) -> bool:
        """Whether a schema that contains itself does so by more than one way through the same value."""
        if len(self._recursive) > MAX_TARGETS:
            return True
        return any(self._ways(schema, mark, {}) > 1 for mark, schema in self._recursive.items())

    def _ways(self, node: Json, goal: int, seen: dict[int, int]) -> int:
        schema = mapping(node)
        mark = id(schema)
        if seen and mark == goal:
            return 1
        if mark in seen:
            return seen[mark]
        seen[mark] = 0
        here = sum(self._ways(branch, goal, seen) for branch in self._branches(schema))
        inside = max((self._ways(part, goal, seen) for part in _parts(schema)), default=0)
        seen[mark] = here + inside
        return seen[mark]

    def _branches(self, schema: Schema) -> Iterator[Json]:
        yield from chain.from_iterable(listing(schema.get(key)) for key in _LISTS)
        yield from (schema[key] for key in _SINGLES if key in schema)
        yield from chain.from_iterable(
            mapping(schema.get(key)).values() for key in ("dependentSchemas", "dependencies")
        )
        if "$dynamicRef" in schema or "$recursiveRef" in schema or ("$id" in schema and schema is not self._root):
            self.opaque = True
        if isinstance(reference := schema.get("$ref"), str):
            self.opaque = self.opaque or not (reference == "#" or reference.startswith("#/"))
            yield resolve(self._root, reference)


def _parts(schema: Schema) -> Iterator[Json]:
    yield from chain.from_iterable(mapping(schema.get(key)).values() for key in _PART_MAPS)
    yield from (schema[key] for key in _PARTS if key in schema)
    yield from listing(schema.get("prefixItems"))
    yield from listing(schema.get("items"))
