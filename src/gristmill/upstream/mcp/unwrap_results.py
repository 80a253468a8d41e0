"""Lists and scalars that FastMCP servers wrap, because structured content had to be an object: code gets them bare.

Only where the tool's schema says that it wraps. The tool is taken over with the schema of what is inside, mark kept, so stubs,
checks and learned types all speak of the value that code gets.
"""

from collections.abc import Mapping
from typing import cast

from mcp_types import CallToolResult, TextContent

from gristmill.model import Json

MARK = "x-fastmcp-wrap-result"
_KEY = "result"


def inner_schema(schema: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    """The schema of what is wrapped, or ``schema`` itself where nothing is."""
    properties = schema.get("properties") if schema and schema.get(MARK) is True else None
    if schema is None or not isinstance(properties, dict):
        return schema
    inside = cast("dict[str, Json]", properties).get(_KEY)
    if not isinstance(inside, dict):
        return schema
    definitions = {name: schema[name] for name in ("$defs", "definitions", "$schema") if name in schema}
    return {**definitions, **cast("dict[str, Json]", inside), MARK: True}


def unwrapped(result: CallToolResult, schema: Mapping[str, Json] | None) -> CallToolResult:
    """The result with the value that was wrapped as its structured content; as it came where ``schema`` does not say so."""
    found = result.structured_content
    if not schema or schema.get(MARK) is not True or not isinstance(found, dict):
        return result
    fields = cast("dict[str, Json]", found)
    if fields.keys() != {_KEY}:
        return result
    # The text only repeats it, and must not come back in place of a value that is null.
    rest = [block for block in result.content if not isinstance(block, TextContent)]
    return result.model_copy(update={"structured_content": fields[_KEY], "content": rest})
