"""Renders a compact Python signature of a tool for search results. The typed modules have their own, fuller generator."""

import json
import keyword
import re
from collections.abc import Mapping

from gristmill.catalog.types.loose_schema import read_parameter_schemas, read_required_names
from gristmill.loose_json import as_list, as_mapping
from gristmill.model import Json, Tool

_TYPES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "object": "dict"}
_MAX_CHOICES = 8
_MAX_OPTIONS = 6
_MAX_DEPTH = 3
_MAX_NAME = 80
_MAX_DEFAULT = 40


def render_compact_signature(tool: Tool) -> str:
    """Returns ``search_issues(query: str, state: Literal["open", "closed"] = "open") -> dict``."""
    known, needed = read_parameter_schemas(tool), read_required_names(tool)
    # Required parameters first: otherwise the line is not valid Python.
    order = sorted(known, key=lambda name: name not in needed)
    inside = ", ".join(_render_parameter(name, known[name], optional=name not in needed) for name in order)
    result = render_schema_type(tool.output_schema) if tool.output_schema else "Any"
    return f"{make_identifier(tool.name)}({inside}) -> {result}"


def make_identifier(name: str) -> str:
    """Returns a Python identifier that resembles ``name``."""
    plain = re.sub(r"[^0-9A-Za-z_]+", "_", name[:_MAX_NAME]).strip("_") or "tool"
    if keyword.iskeyword(plain):
        return f"{plain}_"
    return f"_{plain}" if plain[0].isdigit() else plain


def render_schema_type(schema: object, depth: int = 0) -> str:
    """Returns the Python type that a JSON schema describes, as far as one line can express it."""
    content = as_mapping(schema)
    choices = as_list(content.get("enum"))
    if 0 < len(choices) <= _MAX_CHOICES:
        return f"Literal[{', '.join(_render_literal(choice) for choice in choices)}]"
    if depth >= _MAX_DEPTH:
        return "Any"
    kind = content.get("anyOf") or content.get("oneOf") or content.get("type")
    if isinstance(kind, list):
        options = [{"type": option} if isinstance(option, str) else option for option in as_list(kind)[:_MAX_OPTIONS]]  # pyright: ignore[reportUnknownArgumentType]
        return " | ".join(dict.fromkeys(render_schema_type(option, depth + 1) for option in options)) or "Any"
    if kind == "array":
        return f"list[{render_schema_type(content.get('items'), depth + 1)}]" if content.get("items") else "list"
    return _TYPES.get(kind, "Any") if isinstance(kind, str) else "Any"


def _render_parameter(name: str, schema: Mapping[str, Json], *, optional: bool) -> str:
    text = f"{make_identifier(name)}: {render_schema_type(schema)}"
    if not optional:
        return text
    default = schema.get("default")
    is_short = isinstance(default, str | bool | int | float) and len(str(default)) <= _MAX_DEFAULT
    return f"{text} = {_render_literal(default) if is_short else '...'}"


def _render_literal(value: Json) -> str:
    """Returns a literal on one line; in ASCII, so that no invisible character can hide in it."""
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return json.dumps(value if isinstance(value, str) else str(value))
