"""Arguments and results against their tool's schemas. Nothing is fetched or runs away; bad schemas are reported."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

import jsonschema_rs

from gristmill.catalog.definition_bounds import deeper_than, excess
from gristmill.catalog.types.schema_cost import ANY_DEPTH, depth_allowed, shallow
from gristmill.catalog.types.schema_problems import Problem, explain
from gristmill.catalog.types.schema_refs import Schema
from gristmill.catalog.visible_text import one_line
from gristmill.model import Json, Tool
from gristmill.values import dataclass

MAX_PROBLEMS = 5
MAX_CACHED = 10_000

_PATTERNS = (
    # The linear engine cannot be made to run away; patterns it does not know get the other one on a short leash.
    jsonschema_rs.RegexOptions(size_limit=1_000_000),
    jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000, size_limit=1_000_000),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What a schema became: a validator, none if it cannot be used, and in one line what is wrong with it."""

    schema: Schema
    validator: jsonschema_rs.Validator | None = None
    depth: int = ANY_DEPTH
    """How deep a value may be."""
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    tool: Tool
    arguments: Compiled
    result: Compiled


class Checker:
    """Compiled validators, one entry per tool; a tool whose definition changed gets a new one."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def arguments(self, tool: Tool, arguments: Mapping[str, Json]) -> tuple[Problem, ...]:
        """What is wrong with ``arguments``; nothing when they fit or when the schema cannot tell."""
        return _problems(self._of(tool).arguments, dict(arguments), limit=MAX_PROBLEMS)

    def result(self, tool: Tool, value: Json) -> tuple[Problem, ...]:
        """What is wrong with the structured result ``value``; nothing when the tool declares no type for it."""
        return _problems(self._of(tool).result, value, limit=1)

    def notes(self, tool: Tool) -> tuple[str, ...]:
        """Why the schemas of ``tool`` cannot be used, or not in full; empty when they can."""
        entry = self._of(tool)
        found = (("input schema", entry.arguments.note), ("output schema", entry.result.note))
        return tuple(f"{place}: {note}" for place, note in found if note)

    def _of(self, tool: Tool) -> _Entry:
        entry = self._entries.get(tool.key)
        # Identity first: it is the usual case, and comparing big schemas on every call would cost more than the check.
        if entry is None or (entry.tool is not tool and entry.tool != tool):
            if len(self._entries) >= MAX_CACHED:
                self._entries.clear()
            result = Compiled(schema={}) if tool.output_schema is None else compile_schema(tool.output_schema)
            entry = self._entries[tool.key] = _Entry(tool=tool, arguments=compile_schema(tool.input_schema), result=result)
        return entry


def compile_schema(schema: Mapping[str, Json]) -> Compiled:
    """A validator for ``schema``, or why there is none. Never raises, never fetches."""
    content = dict(schema)
    if reason := excess(content):
        return Compiled(schema={}, note=f"not checked: {reason}")
    depth = depth_allowed(content)
    if depth == 0:
        note = "checked at its first level only: its branches or references multiply"
        return replace(_compile(shallow(content)), note=note)
    return replace(_compile(content), depth=depth)


def _compile(schema: dict[str, Json]) -> Compiled:
    failure = ""
    for patterns in _PATTERNS:
        try:
            # The mask keeps values out of messages: we show them ourselves, and short.
            validator = jsonschema_rs.validator_for(schema, pattern_options=patterns, offline=True, mask="the value")
            return Compiled(schema=schema, validator=validator)
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            failure = one_line(str(error).partition("\n")[0])
    return Compiled(schema=schema, note=f"not checked: {failure}")


def _problems(compiled: Compiled, value: Json, *, limit: int) -> tuple[Problem, ...]:
    validator = compiled.validator
    if validator is None:
        return ()
    if compiled.depth < ANY_DEPTH and deeper_than(value, compiled.depth):
        return (Problem(field="(all)", given="a deeper value", expected=f"at most {compiled.depth} levels of nesting"),)
    try:
        if validator.is_valid(value):
            return ()
        # Listing every error of a big value is dear; the first is found as fast as the check itself.
        errors = [_first_error(validator, value)] if limit == 1 else list(islice(validator.iter_errors(value), limit))
    except ValueError as error:
        return (Problem(field="(all)", given=one_line(str(error)), expected="plain JSON, not too deep"),)
    return tuple(dict.fromkeys(problem for error in errors for problem in explain(error, compiled.schema)))[:limit]


def _first_error(validator: jsonschema_rs.Validator, value: Json) -> jsonschema_rs.ValidationError:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return error
    raise ValueError("the value changed while it was checked")
