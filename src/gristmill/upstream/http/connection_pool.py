"""Connections to a server, each in a lane of its own: whoever asks takes the one that was used last."""

import asyncio
import time
from collections import defaultdict, deque

import httpx2

from gristmill.upstream.http.http_connection import Origin, Wire, origin

LANES = 200
IDLE_SECONDS = 4
"""Node and uvicorn hang up after five idle seconds: a call that is sent in that very moment may or may not have been made."""


class Lanes(httpx2.AsyncBaseTransport):
    """A transport that sends each request over one of at most ``LANES`` connections; more than that wait for their turn."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(LANES)
        self._busy: dict[Wire, Origin] = {}
        self._idle: defaultdict[Origin, deque[tuple[float, Wire]]] = defaultdict(deque)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request``; its lane is free again when the answer is closed."""
        to, limits = origin(request), request.extensions.get("timeout", {})
        if self._free.locked():
            await self._turn(limits.get("pool"))
        else:
            await self._free.acquire()  # at once
        self._sweep()
        wire = self._take(to)
        try:
            if wire.is_closed:
                await wire.open(to, limits.get("connect"))
            return await wire.ask(request)
        except BaseException:
            wire.abort()
            self._give_back(wire)
            raise

    async def aclose(self) -> None:
        """Close every connection, also those whose answers nobody has read to the end."""
        for idle in self._idle.values():
            while idle:
                idle.pop()[1].abort()
        for wire in list(self._busy):
            wire.abort()

    async def _turn(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout(f"{LANES} requests are under way already") from None

    def _sweep(self) -> None:
        """Close what has been idle for too long: a burst leaves many connections behind."""
        oldest = time.monotonic() - IDLE_SECONDS
        for idle in self._idle.values():
            while idle and idle[0][0] < oldest:
                idle.popleft()[1].abort()

    def _take(self, to: Origin) -> Wire:
        idle = self._idle[to]
        while idle:
            wire = idle.pop()[1]
            if wire.is_quiet:
                break
            wire.abort()
        else:
            wire = Wire(self._give_back)
        self._busy[wire] = to
        return wire

    def _give_back(self, wire: Wire) -> None:
        to = self._busy.pop(wire, None)
        if to is not None:
            self._free.release()
            self._idle[to].append((time.monotonic(), wire))
