"""Checks the values that a caller passes in beside the code: the same bounds hold for them as for what code sends."""

from collections.abc import Mapping

from gristmill.errors import LimitExceeded
from gristmill.json_bounds import MOST_DEPTH, JsonOutOfBounds, check_json_values
from gristmill.model import Json


def check_given_values(what: str, values: Mapping[str, Json] | None) -> None:
    """Checks the context of an execution, or the arguments of a call without code.

    Raises:
        LimitExceeded: they are nested too deep, or hold too many values or too large an integer.
    """
    if not values:
        return
    try:
        check_json_values(values.values())
    except JsonOutOfBounds as error:
        raise LimitExceeded(f"{what}: {error}", limit="value_bounds", value=MOST_DEPTH) from None
