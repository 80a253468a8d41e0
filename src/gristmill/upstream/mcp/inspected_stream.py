"""A stream of messages between a transport and the SDK's session that lets a function change each answer."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

Inspect = Callable[[JSONRPCResponse], Awaitable[JSONRPCResponse]]
"""Takes an answer; returns it, changed, or another one in its place."""


class InspectedStream:
    """A read stream that passes every message on; each answer goes through ``inspect`` first."""

    def __init__(self, stream: Any, inspect: Inspect, *, closed: anyio.Event | None = None) -> None:
        """Wraps ``stream``; sets ``closed`` when it ends."""
        self._stream = stream  # Any: the SDK's stream protocol is not exported
        self._inspect = inspect
        self._closed = closed or anyio.Event()

    @property
    def last_context(self) -> Any:
        """Returns the sender's context, which the SDK's dispatcher reads."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Returns the next message.

        Raises:
            anyio.EndOfStream: the transport has ended.
        """
        try:
            item = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._closed.set()
            raise anyio.EndOfStream from None
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            item.message = await self._inspect(item.message)
        return item

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Closes the stream of the transport."""
        self._closed.set()
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()
