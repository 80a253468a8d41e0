"""Connections to a server, each in a lane of its own: whoever asks takes the one that was used last.

The library's own pool looks at every connection it has, twice for every request; fifty calls at once pay for that a fifth of
their time. A pool of one connection has nothing to look at.
"""

import asyncio
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import cache

import httpx2

LANES = 200
IDLE_SECONDS = 4
"""Node and uvicorn hang up after five idle seconds: a call that is sent in that very moment may or may not have been made."""
_ONE = httpx2.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE_SECONDS)


class Lanes(httpx2.AsyncBaseTransport):
    """A transport that sends each request over one of at most ``LANES`` connections; more than that wait for their turn."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(LANES)
        self._lanes: set[httpx2.AsyncHTTPTransport] = set()
        self._idle: deque[tuple[float, httpx2.AsyncHTTPTransport]] = deque()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request``; its lane is free again when the answer is closed."""
        if self._free.locked():
            await self._turn(request.extensions.get("timeout", {}).get("pool"))
        else:
            await self._free.acquire()  # at once
        lane = self._take()
        try:
            await self._sweep()
            response = await lane.handle_async_request(request)
        except BaseException:
            self._give_back(lane)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Answer(response.stream, lambda: self._give_back(lane))
        return response

    async def aclose(self) -> None:
        """Close every connection, also those whose answers nobody has read to the end."""
        self._idle.clear()
        while self._lanes:
            await self._lanes.pop().aclose()

    async def _turn(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout(f"{LANES} requests are under way already") from None

    async def _sweep(self) -> None:
        """Close what has been idle for too long: a burst leaves many connections behind."""
        while self._idle and self._idle[0][0] < time.monotonic() - IDLE_SECONDS:
            lane = self._idle.popleft()[1]
            self._lanes.discard(lane)
            await lane.aclose()

    def _take(self) -> httpx2.AsyncHTTPTransport:
        if self._idle:
            return self._idle.pop()[1]
        self._lanes.add(lane := httpx2.AsyncHTTPTransport(verify=_trusted(), limits=_ONE, retries=1))
        return lane

    def _give_back(self, lane: httpx2.AsyncHTTPTransport) -> None:
        self._idle.append((time.monotonic(), lane))
        self._free.release()


class _Answer(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, closed: Callable[[], None]) -> None:
        self._stream = stream
        self._closed: Callable[[], None] | None = closed

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        closed, self._closed = self._closed, None
        try:
            await self._stream.aclose()
        finally:
            if closed is not None:
                closed()


@cache
def _trusted() -> ssl.SSLContext:
    """Whom we believe, read once: it takes longer than a connection."""
    return httpx2.create_ssl_context()
