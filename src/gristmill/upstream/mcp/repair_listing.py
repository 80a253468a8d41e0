"""A stream between transport and session that mends tool listings and notices the end.

The SDK rejects a whole listing, and with it every call, for one malformed tool. Here such a tool is mended if it can be
and dropped if not, before the SDK sees it.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, cast

import anyio
from mcp.client import Transport
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from gristmill.model import Json

_OPTIONAL = ("outputSchema", "annotations", "icons", "execution", "_meta", "title", "description")
"""What a tool can lose and still be called, in the order in which we try."""

_LONGEST_NAME = 256


def mend_listing(result: dict[str, Json], version: str) -> dict[str, Json]:
    """The same listing with only tools that the SDK accepts; the same object when nothing had to be done."""
    if _is_valid(result, version):
        return result
    tools = [mended for tool in result["tools"] if (mended := _mend(tool, version)) is not None]
    return {**result, "tools": tools}


def _mend(tool: Json, version: str) -> dict[str, Json] | None:
    if not isinstance(tool, dict):
        return None
    mended = {**cast("dict[str, Json]", tool)}
    name = mended.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
        return None
    schema = mended.get("inputSchema")
    mended["inputSchema"] = (
        {**cast("dict[str, Json]", schema), "type": "object"} if isinstance(schema, dict) else {"type": "object"}
    )
    for optional in ("", *_OPTIONAL):
        mended.pop(optional, None)
        if _is_valid({"tools": [mended]}, version):
            return mended
    return None


def _is_valid(result: dict[str, Json], version: str) -> bool:
    # Cache hints belong to the listing, not to a tool: without them the newest revision would refuse our probe.
    probe = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} | result
    try:
        validate_server_result("tools/list", version, probe)
    except (ValidationError, KeyError):
        return False
    return True


class MendingStream:
    """A read stream that passes everything on, mended, and sets ``closed`` when there is no more."""

    def __init__(self, stream: Any, *, version: Callable[[], str], closed: anyio.Event) -> None:
        self._stream = stream  # Any: the SDK's stream protocol is not exported
        self._version = version
        self._closed = closed

    @property
    def last_context(self) -> Any:
        """The sender's context, which the SDK's dispatcher asks for."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: the transport is at its end.
        """
        try:
            item = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._closed.set()
            raise anyio.EndOfStream from None
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            self._mend(item.message)
        return item

    def _mend(self, message: JSONRPCResponse) -> None:
        if isinstance(message.result.get("tools"), list):
            message.result = mend_listing(message.result, self._version())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Close what is below."""
        self._closed.set()
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()


class Mending:
    """A transport around another one, with a mending read stream."""

    def __init__(self, transport: Transport, *, closed: anyio.Event) -> None:
        self._transport = transport
        self._closed = closed
        self.version = "2025-11-25"

    async def __aenter__(self) -> Any:
        read, write = await self._transport.__aenter__()
        return MendingStream(read, version=lambda: self.version, closed=self._closed), write

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._transport.__aexit__(kind, error, trace)
