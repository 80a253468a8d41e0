"""Lists a server's tools page by page.

The number of pages, tools and bytes is capped, so that a listing cannot fill our memory.
"""

import logging
from collections.abc import Iterable

import msgspec
from mcp import Client
from mcp_types import ListToolsResult
from mcp_types import Tool as WireTool

from gristmill.model import Tool
from gristmill.upstream.listing.repair_listing import MOST_TOOLS
from gristmill.upstream.listing.schema_depth import is_shallow
from gristmill.upstream.listing.tool_filter import ToolFilter
from gristmill.upstream.mcp.unwrap_results import unwrap_schema

log = logging.getLogger(__name__)

_MOST_PAGES = 200
_MOST_TOOL_BYTES = 512_000
_MOST_BYTES = 64_000_000
_LONGEST_DESCRIPTION = 32_000


async def list_tools(client: Client, server: str, only: ToolFilter) -> tuple[Tool, ...]:
    """Lists all pages and returns them as our tools. Of two tools with the same name the first wins."""
    found: dict[str, Tool] = {}
    size = 0
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        page: ListToolsResult = await client.list_tools(cursor=cursor)
        for tool in convert_tools(page.tools, server, only):
            size += len(tool.description) + _measure_definition(tool)
            if len(found) >= MOST_TOOLS or size > _MOST_BYTES:
                return tuple(found.values())
            found.setdefault(tool.name, tool)
        cursor = page.next_cursor
        if cursor is None or cursor in seen:  # the server repeats a cursor, so its pages would never end
            break
        seen.add(cursor)
    return tuple(found.values())


def convert_tools(tools: Iterable[WireTool], server: str, only: ToolFilter) -> Iterable[Tool]:
    """Converts the SDK's tools to ours. Tools whose definition is too large or nested too deeply are left out."""
    left_out: list[str] = []
    for wire in tools:
        tool = Tool(
            server=server,
            name=wire.name,
            title=wire.title,
            description=(wire.description or "")[:_LONGEST_DESCRIPTION],
            input_schema=wire.input_schema,
            output_schema=unwrap_schema(wire.output_schema),
            annotations=wire.annotations.model_dump(by_alias=True, exclude_none=True) if wire.annotations else {},
        )
        if not only.admits(tool.name):
            continue
        if _measure_definition(tool) <= _MOST_TOOL_BYTES and is_shallow([tool.input_schema, tool.output_schema]):
            yield tool
        else:
            left_out.append(tool.name)
    if left_out:
        message = "%s: %d tools are left out, because their definitions are too large or nested too deeply; the first is %r"
        log.warning(message, server, len(left_out), left_out[0])


def _measure_definition(tool: Tool) -> int:
    try:
        return len(msgspec.json.encode([tool.input_schema, tool.output_schema, tool.annotations]))
    except (ValueError, TypeError, RecursionError):
        return _MOST_TOOL_BYTES + 1
