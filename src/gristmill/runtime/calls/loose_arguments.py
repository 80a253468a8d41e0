"""Gives the arguments of a call the names that its tool has: by position, in one dictionary, or in another spelling."""

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from gristmill.errors import ToolFailed
from gristmill.loose_names import fold_name
from gristmill.model import Json, Tool, ToolCall

WRAPPING_NAMES = frozenset("arguments args params parameters input kwargs tool_input tool_args".split())
"""Names under which programs pass all arguments in one dictionary."""
_NOT_OBJECTS = frozenset({"string", "integer", "number", "boolean", "array", "null"})


def name_arguments(call: ToolCall, tool: Tool) -> ToolCall:
    """Returns the call with every argument under the name that the tool's schema has for it.

    Raises:
        ToolFailed: there are more arguments than the tool has, or one was given twice.
    """
    properties = _read_properties(tool.input_schema)
    if call.positional:
        call = _name_positional(call, tool, properties)
    if call.arguments.keys() <= properties.keys():
        return call
    if (inner := _unwrap_arguments(call, properties)) is not None:
        call = replace(call, arguments=inner)
    renamed = _find_spellings(call, tool, properties)
    if not renamed:
        return call
    return replace(call, arguments={renamed.get(name, name): value for name, value in call.arguments.items()})


def _unwrap_arguments(call: ToolCall, properties: Mapping[str, Json]) -> dict[str, Json] | None:
    """Returns the arguments inside of ``arguments={...}``, or None where the tool itself has an argument of that name."""
    name, value = next(iter(call.arguments.items()))
    if len(call.arguments) > 1 or name not in WRAPPING_NAMES or name in properties or not isinstance(value, dict):
        return None
    inner = cast("dict[str, Json]", value)
    return inner if "$planned" not in inner else None


def _read_properties(schema: Mapping[str, Json]) -> Mapping[str, Json]:
    properties = schema.get("properties")
    return cast("Mapping[str, Json]", properties) if isinstance(properties, Mapping) else {}


def _read_required(schema: Mapping[str, Json]) -> set[str]:
    required = schema.get("required")
    return {str(name) for name in cast("Sequence[Json]", required)} if isinstance(required, list | tuple) else set()


def _name_positional(call: ToolCall, tool: Tool, properties: Mapping[str, Json]) -> ToolCall:
    needed = _read_required(tool.input_schema)
    # Required ones first, as in the typed modules, each group in the order of the schema.
    names = sorted(map(str, properties), key=lambda name: name not in needed)
    if _is_all_arguments(call, names, properties, needed):
        return replace(call, arguments=cast("dict[str, Json]", call.positional[0]), positional=())
    if len(call.positional) > len(names):
        raise ToolFailed(f"{call.tool} takes at most {len(names)} arguments ({', '.join(names)}), not {len(call.positional)}")
    given = dict(zip(names, call.positional, strict=False))
    if twice := given.keys() & call.arguments.keys():
        raise ToolFailed(f"{call.tool} got {', '.join(sorted(twice))} twice, by position and by name")
    return replace(call, arguments={**given, **call.arguments}, positional=())


def _is_all_arguments(call: ToolCall, names: list[str], properties: Mapping[str, Json], needed: set[str]) -> bool:
    """Returns whether the only positional argument is a dictionary of all arguments, and cannot be the first argument itself."""
    only = call.positional[0]
    if len(call.positional) != 1 or call.arguments or not isinstance(only, dict) or "$planned" in only:
        return False
    if not names:
        return True
    if not _may_be_object(properties[names[0]]):
        return True
    # It can be an object: then it holds all arguments only if it has the first one and every required one, and nothing else.
    spelled = {fold_name(name) for name in cast("dict[str, Json]", only)}
    known = {fold_name(name) for name in names}
    return {fold_name(name) for name in (names[0], *needed)} <= spelled <= known


def _may_be_object(schema: Json) -> bool:
    """Returns whether an object may fit a schema; only what is plainly of other types cannot."""
    if not isinstance(schema, Mapping):
        return True
    known = cast("Mapping[str, Json]", schema)
    either = known.get("anyOf")
    if isinstance(either, list):
        return any(map(_may_be_object, cast("list[Json]", either)))
    return known.get("type") not in _NOT_OBJECTS


def _find_spellings(call: ToolCall, tool: Tool, properties: Mapping[str, Json]) -> dict[str, str]:
    """Returns the tool's own names for the arguments that are spelled otherwise, where there is no doubt."""
    extra = tool.input_schema.get("additionalProperties")
    takes_others = (extra is not None and extra is not False) or bool(tool.input_schema.get("patternProperties"))
    wanted = _read_required(tool.input_schema) if takes_others else set(properties)
    free: dict[str, list[str]] = {}
    for name in wanted - call.arguments.keys():
        free.setdefault(fold_name(name), []).append(name)
    unknown: dict[str, list[str]] = {}
    for name in call.arguments.keys() - properties.keys():
        unknown.setdefault(fold_name(name), []).append(name)
    return {
        written[0]: free[folded][0]
        for folded, written in unknown.items()
        if folded and len(written) == 1 and len(free.get(folded, ())) == 1
    }
