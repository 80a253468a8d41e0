"""A pool of connections to a server. A request takes the connection that was used last, or opens a new one."""

import asyncio
import time
from collections import defaultdict, deque

import httpx2

from gristmill.upstream.http.environment_proxy import ProxyChoice
from gristmill.upstream.http.http_connection import HttpConnection, Origin, find_origin

MOST_CONNECTIONS = 200
IDLE_SECONDS = 4
"""Idle connections are closed after this time.

Node and uvicorn close them after five seconds. For a call that is sent at that moment we could not tell whether the server
executed it.
"""


class ConnectionPool(httpx2.AsyncBaseTransport):
    """A transport that sends each request over one of a limited number of connections. Further requests wait for a free one."""

    def __init__(self, proxies: ProxyChoice | None = None) -> None:
        self._proxies = proxies or ProxyChoice()
        self._free = asyncio.Semaphore(MOST_CONNECTIONS)
        self._busy: dict[HttpConnection, Origin] = {}
        self._idle: defaultdict[Origin, deque[tuple[float, HttpConnection]]] = defaultdict(deque)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends ``request``. Its connection is free again when the response is closed."""
        to, limits = find_origin(request), request.extensions.get("timeout", {})
        if self._free.locked():
            await self._wait_for_free(limits.get("pool"))
        else:
            await self._free.acquire()  # does not wait
        self._close_old_idle()
        wire = self._take_connection(to)
        try:
            if wire.is_closed:
                await wire.open(to, limits.get("connect"), self._proxies.choose(*to[:3]))
            return await wire.send(request)
        except BaseException:
            wire.abort()
            self._give_back(wire)
            raise

    async def aclose(self) -> None:
        """Closes every connection, also those with responses that were not read to the end."""
        for idle in self._idle.values():
            while idle:
                idle.pop()[1].abort()
        for wire in list(self._busy):
            wire.abort()

    async def _wait_for_free(self, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout(f"{MOST_CONNECTIONS} requests are under way already") from None

    def _close_old_idle(self) -> None:
        """Closes connections that have been idle for too long: a burst of requests leaves many of them."""
        oldest = time.monotonic() - IDLE_SECONDS
        for idle in self._idle.values():
            while idle and idle[0][0] < oldest:
                idle.popleft()[1].abort()

    def _take_connection(self, to: Origin) -> HttpConnection:
        idle = self._idle[to]
        while idle:
            wire = idle.pop()[1]
            if wire.is_usable:
                break
            wire.abort()
        else:
            wire = HttpConnection(self._give_back)
        self._busy[wire] = to
        return wire

    def _give_back(self, wire: HttpConnection) -> None:
        to = self._busy.pop(wire, None)
        if to is not None:
            self._free.release()
            self._idle[to].append((time.monotonic(), wire))
