"""Turns the input schema of a tool into function parameters, each with its original and its Python name."""

from collections.abc import Mapping

from msgspec import Struct

from gristmill.catalog.python_names import make_python_names
from gristmill.catalog.types.schema_refs import Schema, follow_references, read_strings
from gristmill.catalog.types.schema_types import SchemaReader, describe_schema
from gristmill.catalog.types.type_tree import RecordType, Type
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json, Tool

MAX_PARAMETERS = 500
MAX_NESTING = 6
MAX_BRANCHES = 100


class ToolParameter(Struct, frozen=True, kw_only=True):
    """One parameter of a tool: ``name`` in the protocol, ``python`` in code."""

    name: str
    python: str
    type: Type
    required: bool
    doc: str


class ToolParameters(Struct, frozen=True, kw_only=True):
    """The parameters of a tool: required ones first, each group in the order of the schema."""

    known: tuple[ToolParameter, ...]
    records: tuple[RecordType, ...]
    open: bool
    """Whether other names may be given: the schema allows them or names none at all, or has too many parameters to list."""


class _FoundFields(Struct):
    fields: dict[str, Json]
    required: set[str]
    open: bool


def read_parameters(tool: Tool, *, taken: frozenset[str] = frozenset()) -> ToolParameters:
    """Returns the parameters of ``tool``; properties of top-level ``allOf``, ``anyOf`` and ``oneOf`` branches count too."""
    root = tool.input_schema
    found = _Collector(root).collect(root)
    fields = dict(list(found.fields.items())[:MAX_PARAMETERS])
    python = make_python_names(fields, "argument")
    reader = SchemaReader(root, taken=taken)
    known = [
        ToolParameter(
            name=name,
            python=python[name],
            type=reader.read(schema, f"{tool.name} {name}"),
            required=name in found.required,
            doc=describe_schema(schema),
        )
        for name, schema in fields.items()
    ]
    known.sort(key=lambda parameter: not parameter.required)
    is_open = found.open or len(fields) < len(found.fields) or (not fields and _takes_any_object(root))
    return ToolParameters(known=tuple(known), records=reader.records, open=is_open)


def _takes_any_object(root: Schema) -> bool:
    """Returns whether the schema says nothing about properties, as ``{"type": "object"}``; an empty list of them means none."""
    here = follow_references(root, root)
    return "properties" not in here and here.get("additionalProperties") is not False


class _Collector:
    """A collector of properties through references and branches; a budget stops schemas that refer to themselves."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._branches_left = MAX_BRANCHES

    def collect(self, schema: Json, nesting: int = 0) -> _FoundFields:
        here = follow_references(self._root, schema)
        extra = here.get("additionalProperties")
        found = _FoundFields(
            fields=dict(as_mapping(here.get("properties"))),
            required=set(read_strings(here.get("required"))),
            open=extra is True or bool(as_mapping(extra)) or bool(as_mapping(here.get("patternProperties"))),
        )
        for part in self._collect_parts(here, "allOf", nesting):
            _merge_fields(found, part)
            found.required |= part.required
        for keyword in ("anyOf", "oneOf"):
            _add_branches(found, self._collect_parts(here, keyword, nesting))
        for name in sorted(found.required - found.fields.keys()):
            found.fields[name] = True
        return found

    def _collect_parts(self, schema: Schema, keyword: str, nesting: int) -> list[_FoundFields]:
        parts = as_list(schema.get(keyword))[: self._branches_left] if nesting < MAX_NESTING else []
        self._branches_left -= len(parts)
        return [self.collect(part, nesting + 1) for part in parts]


def _add_branches(found: _FoundFields, branches: list[_FoundFields]) -> None:
    """Adds alternative branches; a name is required only if every branch requires it."""
    for branch in branches:
        _merge_fields(found, branch)
    if branches:
        found.required |= branches[0].required.intersection(*(branch.required for branch in branches[1:]))


def _merge_fields(found: _FoundFields, other: _FoundFields) -> None:
    for name, schema in other.fields.items():
        below = found.fields.get(name)
        if below is None or below is True:
            found.fields[name] = schema
        elif below != schema and schema is not True:
            found.fields[name] = {"anyOf": [below, schema], **_keep_description(below)}
    found.open = found.open or other.open


def _keep_description(schema: Json) -> Mapping[str, Json]:
    return {key: value for key, value in as_mapping(schema).items() if key == "description"}
