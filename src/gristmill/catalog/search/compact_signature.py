"""A compact Python signature of a tool, for search results. The typed modules have their own, fuller generator."""

import json
import keyword
import re
from collections.abc import Mapping

from gristmill.catalog.types.loose_schema import mapping, parameters, required, sequence
from gristmill.model import Json, Tool

_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict"}
_MAX_CHOICES = 8
_MAX_OPTIONS = 6
_MAX_DEPTH = 3
_MAX_NAME = 80
_MAX_DEFAULT = 40


def signature(tool: Tool) -> str:
    """``search_issues(query: str, state: Literal["open", "closed"] = "open") -> dict``."""
    known, needed = parameters(tool), required(tool)
    # Required first: only then is the line valid Python.
    order = sorted(known, key=lambda name: name not in needed)
    inside = ", ".join(_parameter(name, known[name], optional=name not in needed) for name in order)
    result = type_text(tool.output_schema) if tool.output_schema else "Any"
    return f"{python_name(tool.name)}({inside}) -> {result}"


def python_name(name: str) -> str:
    """A Python identifier that resembles ``name``."""
    plain = re.sub(r"[^0-9A-Za-z_]+", "_", name[:_MAX_NAME]).strip("_") or "tool"
    if keyword.iskeyword(plain):
        return f"{plain}_"
    return f"_{plain}" if plain[0].isdigit() else plain


def type_text(schema: object, depth: int = 0) -> str:
    """The Python type that a JSON schema describes, as far as one line can say it."""
    content = mapping(schema)
    choices = sequence(content.get("enum"))
    if 0 < len(choices) <= _MAX_CHOICES:
        return f"Literal[{', '.join(_literal(choice) for choice in choices)}]"
    if depth >= _MAX_DEPTH:
        return "Any"
    kind = content.get("anyOf") or content.get("oneOf") or content.get("type")
    if isinstance(kind, list):
        options = [{"type": option} if isinstance(option, str) else option for option in sequence(kind)[:_MAX_OPTIONS]]  # pyright: ignore[reportUnknownArgumentType]
        return " | ".join(dict.fromkeys(type_text(option, depth + 1) for option in options)) or "Any"
    if kind == "array":
        return f"list[{type_text(content.get('items'), depth + 1)}]" if content.get("items") else "list"
    return _TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


def _parameter(name: str, schema: Mapping[str, Json], *, optional: bool) -> str:
    text = f"{python_name(name)}: {type_text(schema)}"
    if not optional:
        return text
    default = schema.get("default")
    is_short = isinstance(default, str | bool | int | float) and len(str(default)) <= _MAX_DEFAULT
    return f"{text} = {_literal(default) if is_short else '...'}"


def _literal(value: Json) -> str:
    """A literal on one line; ASCII, so that nothing invisible can hide in it."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return json.dumps(value if isinstance(value, str) else str(value))
