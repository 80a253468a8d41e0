"""Checks arguments and results against their tool's schemas. Fetches nothing, limits its work, and reports bad schemas."""

from collections.abc import Callable, Mapping
from itertools import islice

import jsonschema_rs
from msgspec import Struct
from msgspec.structs import replace

from gristmill.catalog.definition_bounds import find_excess, is_deeper_than
from gristmill.catalog.types.convert_arguments import ConvertedArguments, convert_arguments
from gristmill.catalog.types.schema_cost import ANY_DEPTH, find_allowed_depth, make_shallow_schema
from gristmill.catalog.types.schema_problems import SchemaProblem, explain_error
from gristmill.catalog.types.schema_refs import Schema
from gristmill.catalog.visible_text import clean_to_one_line
from gristmill.json_bounds import MOST_DEPTH
from gristmill.model import Json, Tool

MAX_PROBLEMS = 5
MAX_CACHED = 10_000

_PATTERNS = (
    # The linear engine always ends soon; patterns that it does not support get the other one, with a low backtracking limit.
    jsonschema_rs.RegexOptions(size_limit=1_000_000),
    jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=1_000_000),
)


class CompiledSchema(Struct, frozen=True, kw_only=True):
    """A compiled schema: its validator (None if the schema cannot be used), and in one line what is wrong with the schema."""

    schema: Schema
    validator: jsonschema_rs.Validator | None = None
    depth: int = ANY_DEPTH
    """How deep a value may be nested."""
    note: str | None = None


class _Entry(Struct, frozen=True, kw_only=True):
    tool: Tool
    arguments: CompiledSchema
    result: CompiledSchema


class SchemaChecker:
    """Compiled validators, one entry per tool; a tool whose definition changed gets a new entry."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def check_arguments(self, tool: Tool, arguments: Mapping[str, Json]) -> tuple[SchemaProblem, ...]:
        """Returns what is wrong with ``arguments``; empty if they fit or if the schema cannot be used."""
        return _find_problems(self._get_entry(tool).arguments, dict(arguments), limit=MAX_PROBLEMS)

    def convert_arguments(
        self, tool: Tool, arguments: Mapping[str, Json], reveal: Callable[[Json], Json]
    ) -> ConvertedArguments | None:
        """Returns arguments that do not fit in the form that fits; None if there is a doubt about it."""
        compiled = self._get_entry(tool).arguments
        if compiled.validator is None or compiled.depth < ANY_DEPTH or is_deeper_than(dict(arguments), MOST_DEPTH):
            return None  # the work on a schema whose branches multiply is bounded for the check alone
        return convert_arguments(compiled.validator, arguments, reveal)

    def check_result(self, tool: Tool, value: Json) -> tuple[SchemaProblem, ...]:
        """Returns what is wrong with the structured result ``value``; empty if the tool declares no type for it."""
        return _find_problems(self._get_entry(tool).result, value, limit=1)

    def notes(self, tool: Tool) -> tuple[str, ...]:
        """Returns why the schemas of ``tool`` cannot be used, or only in part; empty if they can."""
        entry = self._get_entry(tool)
        found = (("input schema", entry.arguments.note), ("output schema", entry.result.note))
        return tuple(f"{place}: {note}" for place, note in found if note)

    def _get_entry(self, tool: Tool) -> _Entry:
        entry = self._entries.get(tool.key)
        # Identity first: it is the usual case, and comparing big schemas on every call would cost more than the check.
        if entry is None or (entry.tool is not tool and entry.tool != tool):
            if len(self._entries) >= MAX_CACHED:
                self._entries.clear()
            result = CompiledSchema(schema={}) if tool.output_schema is None else compile_schema(tool.output_schema)
            entry = self._entries[tool.key] = _Entry(tool=tool, arguments=compile_schema(tool.input_schema), result=result)
        return entry


def compile_schema(schema: Mapping[str, Json]) -> CompiledSchema:
    """Compiles ``schema`` to a validator, or says why that is not possible. Never raises, never fetches."""
    content = dict(schema)
    if reason := find_excess(content):
        return CompiledSchema(schema={}, note=f"not checked: {reason}")
    depth = find_allowed_depth(content)
    if depth == 0:
        note = "checked at its first level only: its branches or references multiply"
        return replace(_compile_validator(make_shallow_schema(content)), note=note)
    return replace(_compile_validator(content), depth=depth)


def _compile_validator(schema: dict[str, Json]) -> CompiledSchema:
    failure = ""
    for patterns in _PATTERNS:
        try:
            # The mask keeps values out of messages: `SchemaProblem` shows them separately, and short.
            validator = jsonschema_rs.validator_for(schema, pattern_options=patterns, offline=True, mask="the value")
            return CompiledSchema(schema=schema, validator=validator)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            failure = clean_to_one_line(str(error).partition("\n")[0])
    return CompiledSchema(schema=schema, note=f"not checked: {failure}")


def _find_problems(compiled: CompiledSchema, value: Json, *, limit: int) -> tuple[SchemaProblem, ...]:
    validator = compiled.validator
    if validator is None:
        return ()
    if compiled.depth < ANY_DEPTH and is_deeper_than(value, compiled.depth):
        return (SchemaProblem(field="(all)", given="a deeper value", expected=f"at most {compiled.depth} levels of nesting"),)
    try:
        if validator.is_valid(value):
            return ()
        # Listing every error of a big value is expensive; the first is found as fast as the check itself.
        errors = [_find_first_error(validator, value)] if limit == 1 else list(islice(validator.iter_errors(value), limit))
    except ValueError as error:
        return (SchemaProblem(field="(all)", given=clean_to_one_line(str(error)), expected="plain JSON, not too deep"),)
    return tuple(dict.fromkeys(problem for error in errors for problem in explain_error(error, compiled.schema)))[:limit]


def _find_first_error(validator: jsonschema_rs.Validator, value: Json) -> jsonschema_rs.ValidationError:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error
    raise ValueError("the value changed while it was checked")
