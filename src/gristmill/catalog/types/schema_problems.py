"""Turns validation errors into what an agent needs to repair its call: the field, what was given, what is expected."""

import json
from collections.abc import Iterable, Sequence
from typing import cast

import jsonschema_rs
from msgspec import Struct

from gristmill.catalog.types.schema_refs import Schema, follow_references, resolve_reference
from gristmill.catalog.visible_text import clean_to_one_line
from gristmill.loose_json import as_mapping
from gristmill.model import Json
from gristmill.near_names import find_near_name

MAX_NAMES = 20

_KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class SchemaProblem(Struct, frozen=True, kw_only=True):
    """One error in a value: the field, what was given, what is expected, and the name that was probably meant."""

    field: str
    given: str
    expected: str
    near: str | None = None

    def __str__(self) -> str:
        hint = f"; did you mean {self.near!r}?" if self.near else ""
        return f"{self.field}: got {self.given}, expected {self.expected}{hint}"


def explain_error(error: jsonschema_rs.ValidationError, root: Schema) -> list[SchemaProblem]:
    """Returns the problems that ``error`` describes; several if several names are unknown."""
    place, kind = list(error.instance_path), error.kind.name
    if kind == "required":
        missing = str(error.kind.value)
        unknown = [key for key in as_mapping(error.instance) if key not in _find_known_names(error, root)]
        return [
            SchemaProblem(
                field=show_path([*place, missing]),
                given="nothing",
                expected="a value, it is required",
                near=_find_near_name(missing, unknown),
            )
        ]
    if kind in ("additionalProperties", "unevaluatedProperties"):
        known = _find_known_names(error, root)
        given = as_mapping(error.instance)
        return [_describe_unknown_name([*place, name], given.get(name), known) for name in cast("list[str]", error.kind.value)]
    near = _find_near_name(error.instance, cast("list[Json]", error.kind.value)) if kind == "enum" else None
    return [
        SchemaProblem(field=show_path(place), given=_show_value(error.instance), expected=_describe_expected(error), near=near)
    ]


def _describe_unknown_name(place: Sequence[str | int], value: Json, known: list[str]) -> SchemaProblem:
    names = ", ".join(clean_to_one_line(name, limit=60) for name in known[:MAX_NAMES]) or "none"
    return SchemaProblem(
        field=show_path(place),
        given=_show_value(value),
        expected=f"no such name; known: {names}",
        near=_find_near_name(place[-1], known),
    )


def _describe_expected(error: jsonschema_rs.ValidationError) -> str:
    kind, value = error.kind.name, error.kind.value
    if kind == "type":
        return " or ".join(sorted(value))
    if kind == "enum":
        return "one of " + _show_values(value)
    if kind == "const":
        return _show_value(value)
    if kind in ("anyOf", "oneOf") and isinstance(value, list):
        branches = cast("list[list[jsonschema_rs.ValidationError]]", value)
        return " or ".join(dict.fromkeys(_describe_branch(error, branch[0]) for branch in branches[:MAX_NAMES] if branch))
    return clean_to_one_line(error.message.removeprefix("the value "))


def _describe_branch(outer: jsonschema_rs.ValidationError, inner: jsonschema_rs.ValidationError) -> str:
    below = list(inner.instance_path)[len(list(outer.instance_path)) :]
    if inner.kind.name == "required":
        return f"{show_path([*below, str(inner.kind.value)])} given"
    return f"{show_path(below)} as {_describe_expected(inner)}" if below else _describe_expected(inner)


def _find_known_names(error: jsonschema_rs.ValidationError, root: Schema) -> list[str]:
    """Returns the properties of the schema that the error is about, found along its path."""
    current: Json = root
    for part in list(error.schema_path)[:-1]:
        if part == "$ref":
            current = resolve_reference(root, str(as_mapping(current).get("$ref")))
        elif isinstance(current, list):
            current = cast("list[Json]", current)[int(part)]
        else:
            current = as_mapping(current).get(str(part))
    return list(as_mapping(follow_references(root, current).get("properties")))


def _find_near_name(name: Json, known: Iterable[Json]) -> str | None:
    near = find_near_name(name, [each for each in known if isinstance(each, str)]) if isinstance(name, str) else None
    return None if near is None else clean_to_one_line(near, limit=60)


def _show_value(value: Json) -> str:
    text = clean_to_one_line(json.dumps(value, ensure_ascii=False, default=str) if _is_small(value) else "…", limit=80)
    return f"{text} ({name_kind(value)})"


def _is_small(value: Json) -> bool:
    return not isinstance(value, dict | list) or len(cast("list[Json]", value)) <= MAX_NAMES


def name_kind(value: Json) -> str:
    """Returns the name that JSON Schema has for the kind of a value."""
    return "null" if value is None else _KINDS.get(type(cast("object", value)), "unknown")


def _show_values(values: list[Json]) -> str:
    shown = ", ".join(json.dumps(value) for value in values[:MAX_NAMES])
    return clean_to_one_line(shown, limit=400) + (f" and {len(values) - MAX_NAMES} more" if len(values) > MAX_NAMES else "")


def show_path(parts: Iterable[str | int]) -> str:
    """Returns a place in a value as it is written in code: ``filters.tags[0]``."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return clean_to_one_line(text) or "(all)"
