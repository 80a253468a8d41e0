"""Measures how deep the definition of a tool is nested, level by level: a function that calls itself could run out of stack."""

from collections.abc import Iterable
from typing import cast

from gristmill.model import Json

DEEPEST_SCHEMA = 64


def is_shallow(value: Json) -> bool:
    """Whether ``value`` has at most ``DEEPEST_SCHEMA`` levels."""
    level = [value]
    for _ in range(DEEPEST_SCHEMA):
        level = [child for item in level for child in _get_children(item)]
        if not level:
            return True
    return False


def _get_children(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return list(cast("dict[str, Json]", value).values())
    return cast("list[Json]", value) if isinstance(value, list) else ()
