"""Validation errors → what an agent needs to repair its call: the field, what was given, what is expected."""

import difflib
import json
from collections.abc import Iterable, Sequence
from typing import cast

import jsonschema_rs

from gristmill.catalog.types.schema_refs import Schema, follow, mapping, resolve
from gristmill.catalog.visible_text import one_line
from gristmill.model import Json
from gristmill.values import dataclass

MAX_NAMES = 20

_KINDS: dict[type, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong with a value: where, what was given, what is expected, and the name that was probably meant."""

    field: str
    given: str
    expected: str
    near: str | None = None

    def __str__(self) -> str:
        hint = f"; did you mean {self.near!r}?" if self.near else ""
        return f"{self.field}: got {self.given}, expected {self.expected}{hint}"


def explain(error: jsonschema_rs.ValidationError, root: Schema) -> list[Problem]:
    """The problems that ``error`` stands for; several when several names are unknown."""
    place, kind = list(error.instance_path), error.kind.name
    if kind == "required":
        missing = str(error.kind.value)
        unknown = [key for key in mapping(error.instance) if key not in _known_names(error, root)]
        return [
            Problem(
                field=_path([*place, missing]),
                given="nothing",
                expected="a value, it is required",
                near=_near(missing, unknown),
            )
        ]
    if kind in ("additionalProperties", "unevaluatedProperties"):
        known = _known_names(error, root)
        given = mapping(error.instance)
        return [_unknown([*place, name], given.get(name), known) for name in cast("list[str]", error.kind.value)]
    near = _near(error.instance, cast("list[Json]", error.kind.value)) if kind == "enum" else None
    return [Problem(field=_path(place), given=_show(error.instance), expected=_expected(error), near=near)]


def _unknown(place: Sequence[str | int], value: Json, known: list[str]) -> Problem:
    names = ", ".join(one_line(name, limit=60) for name in known[:MAX_NAMES]) or "none"
    return Problem(field=_path(place), given=_show(value), expected=f"no such name; known: {names}", near=_near(place[-1], known))


def _expected(error: jsonschema_rs.ValidationError) -> str:
    kind, value = error.kind.name, error.kind.value
    if kind == "type":
        return " or ".join(sorted(value))
    if kind == "enum":
        return "one of " + _list(value)
    if kind == "const":
        return _show(value)
    if kind in ("anyOf", "oneOf") and isinstance(value, list):
        branches = cast("list[list[jsonschema_rs.ValidationError]]", value)
        return " or ".join(dict.fromkeys(_branch(error, branch[0]) for branch in branches[:MAX_NAMES] if branch))
    return one_line(error.message.removeprefix("the value "))


def _branch(outer: jsonschema_rs.ValidationError, inner: jsonschema_rs.ValidationError) -> str:
    below = list(inner.instance_path)[len(list(outer.instance_path)) :]
    if inner.kind.name == "required":
        return f"{_path([*below, str(inner.kind.value)])} given"
    return f"{_path(below)} as {_expected(inner)}" if below else _expected(inner)


def _known_names(error: jsonschema_rs.ValidationError, root: Schema) -> list[str]:
    """The properties of the schema that the error speaks of, found along its path."""
    current: Json = root
    for part in list(error.schema_path)[:-1]:
        if part == "$ref":
            current = resolve(root, str(mapping(current).get("$ref")))
        elif isinstance(current, list):
            current = cast("list[Json]", current)[int(part)]
        else:
            current = mapping(current).get(str(part))
    return list(mapping(follow(root, current).get("properties")))


def _near(name: Json, known: Iterable[Json]) -> str | None:
    candidates = {_plain(each): each for each in known if isinstance(each, str)}
    found = difflib.get_close_matches(_plain(name[:100]), candidates, n=1, cutoff=0.6) if isinstance(name, str) else []
    return one_line(candidates[found[0]], limit=60) if found else None


def _plain(name: str) -> str:
    """Without case and separators, which is where most misspellings are: ``userId`` and ``user-id`` are one."""
    return "".join(letter for letter in name[:100].lower() if letter.isalnum())


def _show(value: Json) -> str:
    text = one_line(json.dumps(value, ensure_ascii=False, default=str) if _is_small(value) else "…", limit=80)
    return f"{text} ({_kind(value)})"


def _is_small(value: Json) -> bool:
    return not isinstance(value, dict | list) or len(cast("list[Json]", value)) <= MAX_NAMES


def _kind(value: Json) -> str:
    return "null" if value is None else _KINDS.get(type(cast("object", value)), "unknown")


def _list(values: list[Json]) -> str:
    shown = ", ".join(json.dumps(value) for value in values[:MAX_NAMES])
    return one_line(shown, limit=400) + (f" and {len(values) - MAX_NAMES} more" if len(values) > MAX_NAMES else "")


def _path(parts: Iterable[str | int]) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return one_line(text) or "(all)"
