"""A transport between a server's transport and the session that repairs tool listings and notices the end of the connection.

The SDK rejects a whole listing, and with it every call, for one malformed tool. Here such a tool is repaired if possible
and dropped if not, before the SDK sees it.
"""

from types import TracebackType
from typing import Any, cast

import anyio
import anyio.to_thread
from mcp.client import Transport
from mcp_types import JSONRPCResponse
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from gristmill.model import Json
from gristmill.upstream.mcp.carried_results import carry_result
from gristmill.upstream.mcp.inspected_stream import InspectedStream
from gristmill.upstream.mcp.mirrored_headers import keep_secrets_out_of_headers
from gristmill.upstream.mcp.wire_messages import LargeResponse

_REMOVABLE_FIELDS = ("outputSchema", "annotations", "icons", "execution", "_meta", "title", "description")
"""Fields that a tool can lose and still be called, in the order in which they are removed."""

_LONGEST_NAME = 256
MOST_TOOLS = 10_000
"""How many tools of one server are read."""


def repair_listing(result: dict[str, Json], version: str) -> dict[str, Json]:
    """Returns the listing with only the tools that the SDK accepts; the same object when nothing had to be repaired."""
    if _is_valid(result, version):
        return result
    return repair_each_tool(result, version)


def repair_each_tool(result: dict[str, Json], version: str) -> dict[str, Json]:
    """Returns the same as ``repair_listing``. It checks one tool at a time: in a thread, others can run between two checks."""
    tools = [fixed for tool in result["tools"][:MOST_TOOLS] if (fixed := _repair_tool(tool, version)) is not None]
    return {**result, "tools": tools}


def _repair_tool(tool: Json, version: str) -> dict[str, Json] | None:
    if not isinstance(tool, dict):
        return None
    fixed = {**cast("dict[str, Json]", tool)}
    name = fixed.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        return None
    schema = fixed.get("inputSchema")
    fixed["inputSchema"] = (
        {**cast("dict[str, Json]", schema), "type": "object"} if isinstance(schema, dict) else {"type": "object"}
    )
    for optional in ("", *_REMOVABLE_FIELDS):
        fixed.pop(optional, None)
        if _is_valid({"tools": [fixed]}, version):
            return fixed
    return None


def _is_valid(result: dict[str, Json], version: str) -> bool:
    # Cache hints belong to the listing, not to a tool: without them the newest revision would reject our probe.
    probe = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} | result
    try:
        validate_server_result("tools/list", version, probe)
    except (ValidationError, KeyError):
        return False
    return True


class ListingRepair:
    """A transport around another transport, whose read stream repairs tool listings and carries results past the SDK."""

    def __init__(self, transport: Transport, *, closed: anyio.Event) -> None:
        self._transport = transport
        self._closed = closed
        self.version = "2025-11-25"

    async def __aenter__(self) -> Any:
        read, write = await self._transport.__aenter__()
        return InspectedStream(read, self._inspect, closed=self._closed), write

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(kind, error, trace)

    async def _inspect(self, answer: JSONRPCResponse) -> JSONRPCResponse:
        if not isinstance(answer.result.get("tools"), list):
            return carry_result(answer)
        for tool in answer.result["tools"]:
            if isinstance(tool, dict):
                keep_secrets_out_of_headers(cast("dict[str, Json]", tool))
        if isinstance(answer, LargeResponse):
            answer.result = await anyio.to_thread.run_sync(repair_each_tool, answer.result, self.version)
        else:
            answer.result = repair_listing(answer.result, self.version)
        return answer
