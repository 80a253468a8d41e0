"""Escapes characters in foreign text before a terminal or a model gets it: text from code or a tool may steer neither."""

from typing import cast

from gristmill.escape_text import escape_steering as neutralize_text
from gristmill.model import Json

__all__ = ["neutralize_json", "neutralize_text"]


def neutralize_json(value: Json) -> Json:
    """Returns a JSON value with every text in it, keys included, made harmless.

    It does not recurse: the sender of the value chooses how deeply it is nested.
    """
    if isinstance(value, str):
        return neutralize_text(value)
    if not isinstance(value, (dict, list)):
        return value
    whole: list[Json] = [None]
    todo: list[tuple[Json, Json, Json]] = [(whole, 0, value)]
    while todo:
        holder, key, item = todo.pop()
        if isinstance(item, dict):
            mapping = cast("dict[str, Json]", item)
            holder[key] = made = {neutralize_text(str(name)): None for name in mapping}
            todo.extend((made, neutralize_text(str(name)), inner) for name, inner in mapping.items())
        elif isinstance(item, list):
            row = cast("list[Json]", item)
            holder[key] = made = [None] * len(row)
            todo.extend((made, place, inner) for place, inner in enumerate(row))
        else:
            holder[key] = neutralize_text(item) if isinstance(item, str) else item
    return whole[0]
