"""Unwraps lists and scalars that servers wrap in an object, because structured content had to be an object.

FastMCP marks the schema of such a tool. The official SDK does not: its wrapper is an object with the one field ``result``, titled
with the name of the server's function and ``Output``. The tool gets the schema of the inner value, with a mark, so that stubs,
checks, journal and learned types all describe the value that the code gets.
"""

import re
from collections.abc import Mapping
from typing import cast

from msgspec.structs import replace

from gristmill.model import Json
from gristmill.upstream.mcp.tool_answer import TextContentBlock, ToolAnswer

WRAPPED_MARK = "x-fastmcp-wrap-result"
_KEY = "result"
_SDK_TITLE = re.compile(r"[a-z_]\w*Output")


def unwrap_schema(schema: Mapping[str, Json] | None) -> Mapping[str, Json] | None:
    """Returns the schema of the wrapped value, or ``schema`` itself if it is no wrapper."""
    properties = schema.get("properties") if schema and (schema.get(WRAPPED_MARK) is True or _is_sdk_wrapper(schema)) else None
    if schema is None or not isinstance(properties, dict):
        return schema
    inside = cast("dict[str, Json]", properties).get(_KEY)
    if not isinstance(inside, dict):
        return schema
    definitions = {name: schema[name] for name in ("$defs", "definitions", "$schema") if name in schema}
    return {**definitions, **cast("dict[str, Json]", inside), WRAPPED_MARK: True}


def _is_sdk_wrapper(schema: Mapping[str, Json]) -> bool:
    """Returns whether the official SDK made this schema around another one.

    A model that the server's author wrote is titled with the name of a class, which begins with a capital letter.
    """
    title, properties = schema.get("title"), schema.get("properties")
    if not isinstance(title, str) or not isinstance(properties, dict) or schema.get("required") != [_KEY]:
        return False
    inside = cast("dict[str, Json]", properties)
    made_by_sdk = _SDK_TITLE.fullmatch(title) is not None and not title.endswith("DictOutput")
    return made_by_sdk and inside.keys() == {_KEY} and isinstance(inside[_KEY], dict)


def unwrap_result(answer: ToolAnswer, schema: Mapping[str, Json] | None) -> ToolAnswer:
    """Returns the answer with the wrapped value as its structured content, or unchanged if ``schema`` has no mark."""
    found = answer.structured_content
    if not schema or schema.get(WRAPPED_MARK) is not True or not isinstance(found, dict):
        return answer
    fields = cast("dict[str, Json]", found)
    if fields.keys() != {_KEY}:
        return answer
    # The text only repeats the value; it must not be used instead when the value is null.
    rest = [block for block in answer.content if not isinstance(block, TextContentBlock)]
    return replace(answer, structured_content=fields[_KEY], content=rest)
