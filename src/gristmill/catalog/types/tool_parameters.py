"""The input schema of a tool → the parameters of a function, each with its original and its Python name."""

from collections.abc import Mapping

from gristmill.catalog.python_names import python_names
from gristmill.catalog.types.schema_refs import Schema, follow, listing, mapping, names
from gristmill.catalog.types.schema_types import Reader, describe_schema
from gristmill.catalog.types.type_tree import Record, Type
from gristmill.model import Json, Tool
from gristmill.values import dataclass

MAX_PARAMETERS = 500
MAX_NESTING = 6
MAX_BRANCHES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a tool: ``name`` on the wire, ``python`` in code."""

    name: str
    python: str
    type: Type
    required: bool
    doc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The arguments of a tool, required ones first, each group in the order of the schema."""

    known: tuple[Parameter, ...]
    records: tuple[Record, ...]
    open: bool
    """Whether the schema says in so many words that other names are welcome."""


@dataclass(slots=True)
class _Found:
    fields: dict[str, Json]
    required: set[str]
    open: bool


def read_parameters(tool: Tool, *, taken: frozenset[str] = frozenset()) -> Parameters:
    """The parameters of ``tool``; properties of top-level ``allOf``, ``anyOf`` and ``oneOf`` branches count too."""
    root = tool.input_schema
    found = _Collector(root).collect(root)
    fields = dict(list(found.fields.items())[:MAX_PARAMETERS])
    python = python_names(fields, "argument")
    reader = Reader(root, taken=taken)
    known = [
        Parameter(
            name=name,
            python=python[name],
            type=reader.read(schema, f"{tool.name} {name}"),
            required=name in found.required,
            doc=describe_schema(schema),
        )
        for name, schema in fields.items()
    ]
    known.sort(key=lambda parameter: not parameter.required)
    return Parameters(known=tuple(known), records=reader.records, open=found.open or len(fields) < len(found.fields))


class _Collector:
    """Gathers properties through references and branches; a budget ends those that refer to themselves."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._branches = MAX_BRANCHES

    def collect(self, schema: Json, nesting: int = 0) -> _Found:
        here = follow(self._root, schema)
        extra = here.get("additionalProperties")
        found = _Found(
            fields=dict(mapping(here.get("properties"))),
            required=set(names(here.get("required"))),
            open=extra is True or bool(mapping(extra)) or bool(mapping(here.get("patternProperties"))),
        )
        for part in self._parts(here, "allOf", nesting):
            _merge(found, part)
            found.required |= part.required
        for keyword in ("anyOf", "oneOf"):
            _add_branches(found, self._parts(here, keyword, nesting))
        for name in sorted(found.required - found.fields.keys()):
            found.fields[name] = True
        return found

    def _parts(self, schema: Schema, keyword: str, nesting: int) -> list[_Found]:
        parts = listing(schema.get(keyword))[: self._branches] if nesting < MAX_NESTING else []
        self._branches -= len(parts)
        return [self.collect(part, nesting + 1) for part in parts]


def _add_branches(found: _Found, branches: list[_Found]) -> None:
    """A name is required only if every branch requires it."""
    for branch in branches:
        _merge(found, branch)
    if branches:
        found.required |= branches[0].required.intersection(*(branch.required for branch in branches[1:]))


def _merge(found: _Found, other: _Found) -> None:
    for name, schema in other.fields.items():
        below = found.fields.get(name)
        if below is None or below is True:
            found.fields[name] = schema
        elif below != schema and schema is not True:
            found.fields[name] = {"anyOf": [below, schema], **_description(below)}
    found.open = found.open or other.open


def _description(schema: Json) -> Mapping[str, Json]:
    return {key: value for key, value in mapping(schema).items() if key == "description"}
