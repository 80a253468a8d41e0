"""Small readers of JSON Schema that never fail on a bad one: local references, mappings, lists. Nothing is fetched."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import unquote

from gristmill.model import Json

Schema = Mapping[str, Json]

_NOTHING: dict[str, Json] = {}


def mapping(value: Json) -> Schema:
    """``value`` if it is an object, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else _NOTHING


def listing(value: Json) -> list[Json]:
    """``value`` if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def names(value: Json) -> list[str]:
    """The strings in ``value`` if it is a list."""
    return [entry for entry in listing(value) if isinstance(entry, str)]


def resolve(root: Schema, reference: str) -> Json:
    """What a local reference (``#``, ``#/$defs/x``) points to; True (anything goes) for every other."""
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return True
    current: Json = root
    for part in unquote(reference[2:]).split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(current, dict) and key in current:
            current = cast("dict[str, Any]", current)[key]
        elif isinstance(current, list) and key.isdecimal() and int(key[:9]) < len(cast("list[Any]", current)):
            current = cast("list[Any]", current)[int(key[:9])]
        else:
            return True
    return current


def follow(root: Schema, schema: Json, *, steps: int = 16) -> Schema:
    """``schema`` itself, or the object at the end of its chain of references; empty when it leads nowhere."""
    current = mapping(schema)
    while isinstance(reference := current.get("$ref"), str):
        steps -= 1
        if steps < 0:
            return _NOTHING
        siblings = {key: value for key, value in current.items() if key != "$ref"}
        target = mapping(resolve(root, reference))
        current = {**target, **siblings} if siblings.keys() - {"description", "title", "default"} else target
    return current
