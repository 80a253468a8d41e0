"""Reads JSON of servers and programs without trusting its shape: a part with an unexpected type counts as empty."""

from typing import cast

from gristmill.model import Json


def as_mapping(value: object) -> dict[str, Json]:
    """Returns ``value`` if it is a JSON object, else an empty one."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Json]:
    """Returns ``value`` if it is a JSON array, else an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []
