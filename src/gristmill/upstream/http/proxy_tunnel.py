"""Asks a proxy to connect to a server and pass bytes on, before TLS begins on the same connection."""

import asyncio
import re
from typing import cast

import httpx2

from gristmill.upstream.http.environment_proxy import HttpProxy

_HEAD_BYTES = 16_384
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")


class ProxyTunnel(asyncio.Protocol):
    """The first bytes on a connection to a proxy: ``opened`` is done when it has agreed to pass bytes on."""

    def __init__(self, proxy: HttpProxy, host: str, port: int) -> None:
        self._name = f"{proxy.host}:{proxy.port}"
        self._place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._authorization = proxy.authorization
        self._head = b""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails with ``httpx2.ProxyError`` if the proxy refuses, or answers something that is not HTTP."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Sends the request for a tunnel."""
        lines = [f"CONNECT {self._place} HTTP/1.1", f"Host: {self._place}"]
        lines += [f"Proxy-Authorization: {self._authorization}"] if self._authorization else []
        cast("asyncio.Transport", transport).write("\r\n".join([*lines, "", ""]).encode("ascii"))

    def data_received(self, data: bytes) -> None:
        """Reads the answer, to its end or to the longest that is read."""
        self._head += data[:_HEAD_BYTES]
        if not self.opened.done() and (b"\r\n\r\n" in self._head or len(self._head) >= _HEAD_BYTES):
            self._decide()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # the signature of every protocol
        """Fails if the proxy closes the connection before it has answered."""
        self._fail("closed the connection")

    def _decide(self) -> None:
        found = _STATUS.match(self._head)
        if found is None:
            self._fail("speaks no HTTP")
        elif not found[1].startswith(b"2"):
            hint = "; put user and password into the address of the proxy" if found[1] == b"407" else ""
            self._fail(f"does not connect to {self._place}: HTTP {found[1].decode()}{hint}")
        else:
            self.opened.set_result(None)

    def _fail(self, what: str) -> None:
        if not self.opened.done():
            self.opened.set_exception(httpx2.ProxyError(f"the proxy {self._name} {what}"))
            self.opened.exception()  # retrieved here, in case the wait for it was given up
