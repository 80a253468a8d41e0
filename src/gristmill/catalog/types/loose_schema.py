"""Reading JSON schemas of strangers without trusting their shape: what is not as expected is empty."""

from typing import cast

from gristmill.model import Json, Tool


def mapping(value: object) -> dict[str, Json]:
    """``value`` if it is a JSON object, else an empty one."""
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}


def sequence(value: object) -> list[Json]:
    """``value`` if it is a JSON array, else an empty one."""
    return cast("list[Json]", value) if isinstance(value, list) else []


def parameters(tool: Tool) -> dict[str, dict[str, Json]]:
    """The parameters of a tool and their schemas."""
    properties = mapping(tool.input_schema.get("properties"))
    return {str(name): mapping(schema) for name, schema in properties.items()}


def required(tool: Tool) -> frozenset[str]:
    """The names of the parameters a call must give."""
    return frozenset(name for name in sequence(tool.input_schema.get("required")) if isinstance(name, str))


def described(tool: Tool) -> dict[str, str]:
    """The descriptions of the parameters that have one."""
    texts = ((name, schema.get("description")) for name, schema in parameters(tool).items())
    return {name: text for name, text in texts if isinstance(text, str) and text}
