"""One HTTP/1.1 connection: a request goes out, its answer comes in, then the next.

The connection of the client's own library takes a third of the time of a call, so that fifty calls at once through the gateway
would be slower than without the gateway; see bench/upstream.py.
"""

import asyncio
import re
import select
import ssl
from collections.abc import Callable
from functools import cache
from typing import cast

import httpx2

from gristmill.upstream.http.http_answer import Answer

Origin = tuple[str, str, int, str]
"""Scheme, host, port, and the name that its certificate must bear."""
_PORTS = {"http": 80, "https": 443}
_UNSAFE = re.compile(rb"[\r\n\0]")


def origin(request: httpx2.Request) -> Origin:
    """Whom a request goes to.

    Raises:
        httpx2.UnsupportedProtocol: it is not HTTP.
    """
    url = request.url
    if url.scheme not in _PORTS:
        raise httpx2.UnsupportedProtocol(f"{url.scheme}: is neither http nor https")
    name = cast("str", request.extensions.get("sni_hostname", url.host))
    return url.scheme, url.host, url.port or _PORTS[url.scheme], name


class Wire(asyncio.Protocol):
    """A connection. ``freed`` is called whenever an answer has been read to its end, or given up."""

    def __init__(self, freed: Callable[["Wire"], None]) -> None:
        self._freed = freed
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        self._ear = select.poll()

    @property
    def is_closed(self) -> bool:
        """Nothing can be sent by it any more."""
        return self._transport is None or self._transport.is_closing()

    @property
    def is_quiet(self) -> bool:
        """It is open, and the server has not just hung up, which the loop may only hear after the next request is sent."""
        return not self.is_closed and not self._ear.poll(0)

    async def open(self, to: Origin, seconds: float | None) -> None:
        """Connect.

        Raises:
            httpx2.ConnectError: nobody is there, or not with the certificate of that name.
            httpx2.ConnectTimeout: nobody answers within ``seconds``.
        """
        scheme, host, port, name = to
        is_secure = scheme == "https"
        try:
            async with asyncio.timeout(seconds):
                await asyncio.get_running_loop().create_connection(
                    lambda: self, host, port, happy_eyeballs_delay=0.25,
                    ssl=_trusted() if is_secure else None, server_hostname=name if is_secure else None,
                )  # fmt: skip
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"no connection to {host}:{port} in time") from None
        except OSError as error:  # also what TLS says
            raise httpx2.ConnectError(str(error) or type(error).__name__) from error

    async def ask(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request``; its response, once the head is there.

        Raises:
            httpx2.TransportError: it has none.
        """
        said = _head(request) + await _body(request)
        if self._transport is None or self._transport.is_closing():
            raise httpx2.WriteError("the connection is closed")
        answer = Answer(request, self._transport, self._end, request.extensions.get("timeout", {}).get("read"))
        self._answer = answer
        self._transport.write(said)
        return await answer.head()

    def abort(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands."""
        self._transport = cast("asyncio.Transport", transport)
        self._ear.register(transport.get_extra_info("socket"), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """The server speaks; where nobody asked, there is no telling what it means."""
        if self._answer is not None:
            self._answer.feed(data)
        else:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """The server hung up, or we did."""
        if self._answer is not None:
            self._answer.cut(exc)

    def _end(self, answer: Answer) -> None:
        if self._answer is answer:
            self._answer = None
            if self._transport is not None and answer.leaves_clean:
                self._transport.resume_reading()  # or the end of the connection would not be seen
            else:
                self.abort()
            self._freed(self)


def _head(request: httpx2.Request) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%s: %s" % header for header in request.headers.raw]
    if any(_UNSAFE.search(line) for line in lines):
        raise httpx2.LocalProtocolError("a header must not hold the end of a line")
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def _body(request: httpx2.Request) -> bytes:
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    parts = [part async for part in request.stream]
    if "transfer-encoding" in request.headers:
        parts = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part] + [b"0\r\n\r\n"]
    return b"".join(parts)


@cache
def _trusted() -> ssl.SSLContext:
    """Whom we believe, read once: it takes longer than a connection."""
    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
