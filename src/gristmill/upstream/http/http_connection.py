"""One HTTP/1.1 connection: it sends a request, reads the answer, then takes the next request.

With the transport of the client's own library, a call through the gateway takes a third longer:
docs/adr/0013-connections-to-servers.md.
"""

import asyncio
import re
import select
import ssl
from collections.abc import Callable
from functools import cache
from typing import cast

import httpx2

from gristmill.upstream.http.environment_proxy import HttpProxy
from gristmill.upstream.http.http_answer import HttpAnswer
from gristmill.upstream.http.proxy_tunnel import ProxyTunnel

Origin = tuple[str, str, int, str]
"""Scheme, host, port, and the name that the server's certificate must be issued to."""
_PORTS = {"http": 80, "https": 443}
_UNSAFE = re.compile(rb"[\r\n\0]")


def find_origin(request: httpx2.Request) -> Origin:
    """Returns the server that a request goes to.

    Raises:
        httpx2.UnsupportedProtocol: the scheme is neither http nor https.
    """
    url = request.url
    if url.scheme not in _PORTS:
        raise httpx2.UnsupportedProtocol(f"{url.scheme}: is neither http nor https")
    name = cast("str", request.extensions.get("sni_hostname", url.host))
    return url.scheme, url.host, url.port or _PORTS[url.scheme], name


class HttpConnection(asyncio.Protocol):
    """One connection. ``freed`` is called whenever an answer was read to its end or abandoned."""

    def __init__(self, freed: Callable[["HttpConnection"], None]) -> None:
        self._freed = freed
        self._transport: asyncio.Transport | None = None
        self._answer: HttpAnswer | None = None
        self._poll = select.poll()
        self._proxy: HttpProxy | None = None

    @property
    def is_closed(self) -> bool:
        """Whether requests cannot be sent on it any more."""
        return self._transport is None or self._transport.is_closing()

    @property
    def is_usable(self) -> bool:
        """Whether it is open and nothing waits to be read.

        The server may have closed it without the event loop having noticed yet.
        """
        return not self.is_closed and not self._poll.poll(0)

    async def open(self, to: Origin, seconds: float | None, proxy: HttpProxy | None = None) -> None:
        """Connects, through ``proxy`` if one is given.

        Raises:
            httpx2.ConnectError: the server is not reachable, or its certificate does not fit the name.
            httpx2.ProxyError: the proxy does not connect to the server.
            httpx2.ConnectTimeout: there was no connection within ``seconds``.
        """
        scheme, host, port, name = to
        is_secure = scheme == "https"
        try:
            async with asyncio.timeout(seconds):
                if proxy is not None:
                    await self._open_through(proxy, to)
                    return
                await asyncio.get_running_loop().create_connection(
                    lambda: self, host, port, happy_eyeballs_delay=0.25,
                    ssl=_load_trusted_certificates() if is_secure else None, server_hostname=name if is_secure else None,
                )  # fmt: skip
        except TimeoutError:
            raise httpx2.ConnectTimeout(f"no connection to {host}:{port} in time") from None
        except OSError as error:  # TLS errors are OSErrors too
            raise httpx2.ConnectError(str(error) or type(error).__name__) from error

    async def _open_through(self, proxy: HttpProxy, to: Origin) -> None:
        """Connects to the proxy; for https a tunnel through it, in which the server itself is met with TLS."""
        scheme, host, port, name = to
        loop = asyncio.get_running_loop()
        if scheme == "http":
            await loop.create_connection(lambda: self, proxy.host, proxy.port, happy_eyeballs_delay=0.25)
            self._proxy = proxy
            return
        transport, tunnel = await loop.create_connection(
            lambda: ProxyTunnel(proxy, host, port), proxy.host, proxy.port, happy_eyeballs_delay=0.25
        )
        try:
            await tunnel.opened
            inner = await loop.start_tls(transport, self, _load_trusted_certificates(), server_hostname=name)
        except BaseException:
            transport.abort()
            raise
        assert inner is not None
        self.connection_made(inner)

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        """Sends ``request`` and returns its response when the head has arrived.

        Raises:
            httpx2.TransportError: the connection failed before that.
        """
        message = _encode_head(request, self._proxy) + await _encode_body(request)
        if self._transport is None or self._transport.is_closing():
            raise httpx2.WriteError("the connection is closed")
        answer = HttpAnswer(request, self._transport, self._finish_answer, request.extensions.get("timeout", {}).get("read"))
        self._answer = answer
        self._transport.write(message)
        return await answer.wait_for_head()

    def abort(self) -> None:
        """Closes the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes over the transport of the new connection."""
        self._transport = cast("asyncio.Transport", transport)
        self._poll.register(transport.get_extra_info("socket"), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Passes bytes to the answer. Bytes without a request have no meaning, so the connection is closed."""
        if self._answer is not None:
            self._answer.feed(data)
        else:
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tells the answer that the connection has ended."""
        if self._answer is not None:
            self._answer.record_end(exc)

    def _finish_answer(self, answer: HttpAnswer) -> None:
        if self._answer is answer:
            self._answer = None
            if self._transport is not None and answer.can_reuse_connection:
                self._transport.resume_reading()  # otherwise the end of the connection would not be noticed
            else:
                self.abort()
            self._freed(self)


def _encode_head(request: httpx2.Request, proxy: HttpProxy | None = None) -> bytes:
    target = request.url.raw_path
    if proxy is not None:  # a proxy is told the whole address
        target = b"http://%s%s" % (request.url.netloc, target)
    lines = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), target)]
    lines += [b"%s: %s" % header for header in request.headers.raw]
    if proxy is not None and proxy.authorization:
        lines.append(b"Proxy-Authorization: %s" % proxy.authorization.encode("ascii"))
    if any(_UNSAFE.search(line) for line in lines):
        raise httpx2.LocalProtocolError("a header must not contain a line break")
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def _encode_body(request: httpx2.Request) -> bytes:
    assert isinstance(request.stream, httpx2.AsyncByteStream)
    parts = [part async for part in request.stream]
    if "transfer-encoding" in request.headers:
        parts = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts if part] + [b"0\r\n\r\n"]
    return b"".join(parts)


@cache
def _load_trusted_certificates() -> ssl.SSLContext:
    """Returns the trusted certificates, read once: reading them takes longer than a connection."""
    context = httpx2.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
