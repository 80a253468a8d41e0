"""A server's tools, page by page and with caps: a flood of pages, tools or bytes ends at a limit, not in our memory."""

from collections.abc import Iterable
from typing import cast

import msgspec
from mcp import Client
from mcp_types import ListToolsResult
from mcp_types import Tool as WireTool

from gristmill.model import Json, Tool
from gristmill.upstream.mcp.unwrap_results import inner_schema
from gristmill.upstream.tool_filter import Filter

_PAGES = 200
_TOOLS = 10_000
_TOOL_BYTES = 512_000
_ALL_BYTES = 64_000_000
_DEPTH = 64
_DESCRIPTION = 32_000


async def list_tools(client: Client, server: str, only: Filter) -> tuple[Tool, ...]:
    """All pages of the listing as our tools; the first of two tools of one name wins."""
    found: dict[str, Tool] = {}
    size = 0
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_PAGES):
        page: ListToolsResult = await client.list_tools(cursor=cursor)
        for tool in convert(page.tools, server, only):
            size += len(tool.description) + _size(tool)
            if len(found) >= _TOOLS or size > _ALL_BYTES:
                return tuple(found.values())
            found.setdefault(tool.name, tool)
        cursor = page.next_cursor
        if cursor is None or cursor in seen:  # a paginator that goes in circles
            break
        seen.add(cursor)
    return tuple(found.values())


def convert(tools: Iterable[WireTool], server: str, only: Filter) -> Iterable[Tool]:
    """Our tools for the SDK's; what is too large or too deep to be read by anyone is left out."""
    for wire in tools:
        tool = Tool(
            server=server,
            name=wire.name,
            title=wire.title,
            description=(wire.description or "")[:_DESCRIPTION],
            input_schema=wire.input_schema,
            output_schema=inner_schema(wire.output_schema),
            annotations=wire.annotations.model_dump(by_alias=True, exclude_none=True) if wire.annotations else {},
        )
        if only.admits(tool.name) and _size(tool) <= _TOOL_BYTES and _is_shallow([tool.input_schema, tool.output_schema]):
            yield tool


def _size(tool: Tool) -> int:
    try:
        return len(msgspec.json.encode([tool.input_schema, tool.output_schema, tool.annotations]))
    except (ValueError, TypeError, RecursionError):
        return _TOOL_BYTES + 1


def _is_shallow(value: Json) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return True
    return False


def _children(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return list(cast("dict[str, Json]", value).values())
    return cast("list[Json]", value) if isinstance(value, list) else ()
