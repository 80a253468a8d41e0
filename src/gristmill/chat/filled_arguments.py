"""Arguments of direct calls that come from the caller's context: the model neither sees nor gives them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gristmill.errors import Error
from gristmill.model import Json, Tool


def hide_filled(schema: Mapping[str, Any], fill: Collection[str]) -> dict[str, Any]:
    """Returns the input schema of a tool without the arguments that are filled in."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    hidden = {name for name in properties if name in fill}
    if not hidden:
        return dict(schema)
    required: Sequence[str] = schema.get("required") or ()
    return {
        **schema, "properties": {name: one for name, one in properties.items() if name not in hidden},
        "required": [name for name in required if name not in hidden],
    }  # fmt: skip


def fill_arguments(
    tool: Tool, given: Mapping[str, Any], context: Mapping[str, Json], fill: Collection[str]
) -> dict[str, Any]:  # fmt: skip
    """Returns the arguments of a call with those of the context; what the model gave in their place is dropped.

    Raises:
        Error: a required one is not in the context.
    """
    properties: Mapping[str, Any] = tool.input_schema.get("properties") or {}
    required: Sequence[str] = tool.input_schema.get("required") or ()
    taken = [name for name in properties if name in fill]
    lacking = [name for name in taken if name in required and name not in context]
    if lacking:
        raise Error(f"{tool.key} takes {', '.join(lacking)} from the context, which has no such value: the application passes it")
    own = {name: value for name, value in given.items() if name not in taken}
    return own | {name: context[name] for name in taken if name in context}
