"""Converts arguments that do not fit their tool's schema, at the places and to the kinds that the validator's errors name.

An argument is converted only if one reading of it fits: text that is a number, one element where a list is asked, JSON text
where an object is asked. Null for an argument that may be left out is left out. Everything else stays an error.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, cast

import jsonschema_rs
from msgspec import Struct

from gristmill.catalog.types.schema_problems import name_kind, show_path
from gristmill.fitting_values import NoFit, convert_to_kind
from gristmill.model import Json

MOST_PASSES = 4
"""A conversion may uncover another one inside: the text of a list, whose elements are texts of numbers."""
MOST_ERRORS = 20
MOST_BRANCHES = 20

_LEFT_OUT = object()
_Place = tuple[str | int, ...]
_Edits = dict[_Place, Any]


class ConvertedArguments(Struct, frozen=True, kw_only=True):
    """Arguments that fit, and what was done: one phrase for each place."""

    arguments: dict[str, Json]
    changes: tuple[str, ...]


def convert_arguments(
    validator: jsonschema_rs.Validator, arguments: Mapping[str, Json], reveal: Callable[[Json], Json]
) -> ConvertedArguments | None:
    """Returns the arguments as the schema asks for them; None if they cannot be converted without a doubt.

    ``reveal`` replaces masks by the values that they stand for, which the schema describes; what is converted keeps its masks.
    """
    current: dict[str, Json] = json.loads(json.dumps(dict(arguments)))
    changes: dict[str, None] = {}
    try:
        for _ in range(MOST_PASSES):
            errors = list(islice(validator.iter_errors(reveal(current)), MOST_ERRORS))
            if not errors:
                return ConvertedArguments(arguments=current, changes=tuple(changes))
            edits: _Edits = {}
            for error in errors:
                edits |= _propose_edits(error, current)
            for place, value in edits.items():
                changes[_describe_change(place, _get_at(current, place), value)] = None
                _apply_edit(current, place, value)
    except (NoFit, ValueError):
        pass
    return None


def _propose_edits(error: jsonschema_rs.ValidationError, current: Json) -> _Edits:
    """Returns the one change that removes the error.

    Raises:
        NoFit: there is none, or more than one.
    """
    kind, place = error.kind.name, tuple(error.instance_path)
    if kind == "type":
        return _choose_only([lambda wanted=wanted: _convert_at(error, place, wanted, current) for wanted in error.kind.value])
    inside: Json = error.kind.value if kind in ("anyOf", "oneOf") else None
    if isinstance(inside, list):
        branches = cast("list[list[jsonschema_rs.ValidationError]]", inside)
        if 0 < len(branches) <= MOST_BRANCHES:
            return _choose_only([lambda branch=branch: _join_edits(branch, current) for branch in branches])
    raise NoFit


def _join_edits(errors: Sequence[jsonschema_rs.ValidationError], current: Json) -> _Edits:
    if not 0 < len(errors) <= MOST_ERRORS:
        raise NoFit
    edits: _Edits = {}
    for error in errors:
        edits |= _propose_edits(error, current)
    return edits


def _choose_only(proposals: list[Callable[[], _Edits]]) -> _Edits:
    found: dict[str, _Edits] = {}
    for propose in proposals:
        try:
            edits = propose()
        except NoFit:
            continue
        found[json.dumps([[*place, "" if value is _LEFT_OUT else [value]] for place, value in edits.items()])] = edits
    if len(found) != 1:
        raise NoFit
    return found.popitem()[1]


def _convert_at(error: jsonschema_rs.ValidationError, place: _Place, wanted: str, current: Json) -> _Edits:
    value = _get_at(current, place)
    if value is None:
        # Not in a map that takes any key: there a key with null may say something.
        if not place or not isinstance(place[-1], str) or {"additionalProperties", "patternProperties"} & set(error.schema_path):
            raise NoFit
        return {place: _LEFT_OUT}
    return {place: convert_to_kind(value, wanted)}


def _get_at(value: Any, place: _Place) -> Any:
    for part in place:
        value = value[part]
    return value


def _apply_edit(current: dict[str, Json], place: _Place, value: Any) -> None:
    holder = _get_at(current, place[:-1])
    if value is _LEFT_OUT:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value


def _describe_change(place: _Place, before: Json, after: Any) -> str:
    if after is _LEFT_OUT:
        return f"{show_path(place)} was null and was left out"
    return f"{show_path(place)} was given as {name_kind(before)} and sent as {name_kind(after)}"
