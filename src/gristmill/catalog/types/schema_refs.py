"""Small readers of JSON Schema that never fail on a bad schema: local references, mappings, lists. Nothing is fetched."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import unquote

from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json

Schema = Mapping[str, Json]


def read_strings(value: Json) -> list[str]:
    """Returns the strings in ``value`` if it is a list, else an empty list."""
    return [entry for entry in as_list(value) if isinstance(entry, str)]


def resolve_reference(root: Schema, reference: str) -> Json:
    """Returns what a local reference (``#``, ``#/$defs/x``) points to; True (every value is valid) for other references."""
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


def follow_references(root: Schema, schema: Json, *, steps: int = 16) -> Schema:
    """Returns ``schema`` itself, or the object at the end of its chain of references; empty if the chain leads nowhere."""
    current = as_mapping(schema)
    while isinstance(reference := current.get("$ref"), str):
        steps -= 1
        if steps < 0:
            return {}
        siblings = {key: value for key, value in current.items() if key != "$ref"}
        target = as_mapping(resolve_reference(root, reference))
        current = {**target, **siblings} if siblings.keys() - {"description", "title", "default"} else target
    return current
