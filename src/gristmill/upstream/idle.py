"""Whether an idle connection still stands, asked cheaply: the pool asks it of every one of them, for every request."""

import select
from typing import Any

import httpcore2
import httpx2


def ask_cheaply(transport: httpx2.AsyncHTTPTransport) -> httpx2.AsyncHTTPTransport:
    """Let the connections of ``transport`` remember their sockets; a library that is built otherwise is left as it is."""
    pool: Any = getattr(transport, "_pool", None)
    if hasattr(pool, "_network_backend"):
        pool._network_backend = _Backend(pool._network_backend)
    return transport


class _Backend(httpcore2.AsyncNetworkBackend):
    def __init__(self, inner: httpcore2.AsyncNetworkBackend) -> None:
        self._inner = inner
        self.sleep = inner.sleep

    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _remembering(await self._inner.connect_tcp(*args, **options))


def _remembering(stream: Any) -> httpcore2.AsyncNetworkStream:
    """The stream, which finds its socket once. Its own way is to put together all that is known about it, each time."""
    told, secured = stream.get_extra_info, stream.start_tls
    sock = told("socket")
    poll = select.poll()
    poll.register(sock, select.POLLIN)

    def get_extra_info(info: str) -> Any:
        # A closed socket counts as readable: the end of what it says is there to be read.
        return told(info) if info != "is_readable" else sock.fileno() < 0 or bool(poll.poll(0))

    async def start_tls(*args: Any, **options: Any) -> httpcore2.AsyncNetworkStream:
        return _remembering(await secured(*args, **options))

    stream.get_extra_info, stream.start_tls = get_extra_info, start_tls
    return stream
