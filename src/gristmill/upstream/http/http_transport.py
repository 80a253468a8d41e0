"""A server over HTTP: streamable HTTP and, for old servers, SSE. Here are the caps and the guard around every request.

A request that fails becomes an answer that says so: an exception would tear down the SDK's connection and with it every
other call that is under way.
"""

import ipaddress
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED

from gristmill.upstream.http.connection_pool import Lanes
from gristmill.upstream.mcp.translate_errors import TOO_LARGE
from gristmill.upstream.short_text import one_line
from gristmill.values import dataclass

_CONNECT_SECONDS = 10.0
_QUIET_SECONDS = 300.0
"""A stream that says nothing for so long is opened anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server is. Its headers hold resolved secrets, so they are never printed."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cap: int = 32_000_000
    call_seconds: float = 60.0
    auth: httpx2.Auth | None = field(default=None, repr=False)
    speaks_mcp: bool = True
    """Whether a failure is told as an answer of the protocol; an API of another kind gets its exception."""


def http_transport(address: Address) -> AbstractAsyncContextManager[Any]:
    """The SDK's streamable HTTP transport over a guarded client."""
    return _Owned(address)


def sse_transport(address: Address) -> AbstractAsyncContextManager[Any]:
    """The transport of 2024-11-05 over a guarded client."""

    def client(*_given: Any, **_more: Any) -> httpx2.AsyncClient:
        return guarded_client(address)

    return sse_client(address.url, httpx_client_factory=client, auth=address.auth)


def guarded_client(address: Address) -> httpx2.AsyncClient:
    """An HTTP client whose answers are capped and which goes nowhere it was not sent."""
    read = max(_QUIET_SECONDS, address.call_seconds)
    return httpx2.AsyncClient(
        transport=Guard(address),
        headers={"Accept-Encoding": "identity", **address.headers},
        timeout=httpx2.Timeout(read, connect=_CONNECT_SECONDS),
        auth=address.auth,
        follow_redirects=False,
    )


class _Owned:
    """The SDK leaves closing a client that it was given to us."""

    def __init__(self, address: Address) -> None:
        self._client = guarded_client(address)
        self._inner = streamable_http_client(address.url, http_client=self._client, max_sse_event_size=address.cap)

    async def __aenter__(self) -> Any:
        return await self._inner.__aenter__()

    async def __aexit__(self, *problem: Any) -> bool | None:
        try:
            return await self._inner.__aexit__(*problem)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await self._client.aclose()


class Guard(httpx2.AsyncBaseTransport):
    """Between the client and the network."""

    def __init__(self, address: Address, inner: httpx2.AsyncBaseTransport | None = None) -> None:
        self._home = httpx2.URL(address.url)
        self._cap = address.cap
        self._has_login = address.auth is not None
        self._speaks_mcp = address.speaks_mcp
        self._inner = inner or Lanes()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request``, or answer in the server's place why that cannot be done."""
        try:
            if request.url.host != self._home.host:
                request = await self._abroad(request)
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            if not self._speaks_mcp:
                raise
            return _refusal(503, CONNECTION_CLOSED, f"{type(error).__name__} {one_line(str(error))}".strip())
        if response.headers.get("content-encoding", "identity") != "identity":
            # We asked for none. Unpacking could turn a kilobyte into a gigabyte.
            await response.aclose()
            return self._too_large("the answer is compressed although we did not ask for it")
        if response.status_code >= 400 and not self._is_meaningful(response):
            await response.aclose()
            return _refusal(response.status_code, CONNECTION_CLOSED, _explain(response.status_code))
        return self._capped(response)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    def _is_meaningful(self, response: httpx2.Response) -> bool:
        # 404 says that a session is over, 401 and 403 start a login, JSON may hold the protocol's own error.
        if not self._speaks_mcp:
            return True
        is_login = self._has_login and response.status_code in (401, 403)
        return response.status_code in (404, 405) or is_login or "json" in response.headers.get("content-type", "")

    def _capped(self, response: httpx2.Response) -> httpx2.Response:
        declared = response.headers.get("content-length", "")
        is_stream = "event-stream" in response.headers.get("content-type", "")  # the SDK caps each event
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if is_stream:
            return response
        if declared.isdigit() and int(declared) > self._cap:
            return self._too_large(f"the answer of {declared} bytes is larger than the cap of {self._cap}")
        response.stream = _Capped(response.stream, self._cap)
        return response

    def _too_large(self, message: str) -> httpx2.Response:
        if not self._speaks_mcp:
            raise httpx2.StreamError(message)
        return _refusal(502, TOO_LARGE, message)

    async def _abroad(self, request: httpx2.Request) -> httpx2.Request:
        """A request to another host: only a login goes there, to an address the server named, so it is not trusted."""
        host = request.url.host
        addresses = await _resolve(host, request.url.port or 443)
        if not await self._is_internal(self._home.host):
            if request.url.scheme != "https":
                raise httpx2.UnsupportedProtocol(f"a login at {host} without TLS is refused")
            if not all(address.is_global for address in addresses):
                raise httpx2.ConnectError(f"a login at {host} is refused: its address is internal")
        # The address that was checked is the one that is used: the name may resolve to another one next time.
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=str(addresses[0]))
        return request

    async def _is_internal(self, host: str) -> bool:
        return not all(address.is_global for address in await _resolve(host, 443))


class _Capped(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, cap: int) -> None:
        self._stream = stream
        self._left = cap
        self._cap = cap

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                # This class of error is the one that the SDK turns into the answer of a single call.
                raise httpx2.StreamError(f"the answer is larger than the cap of {self._cap} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _refusal(status: int, code: int, message: str) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return httpx2.Response(max(status, 400), json=error)


def _explain(status: int) -> str:
    if status in (401, 403):
        return f"HTTP {status}: a token or a login is needed: set headers, or oauth = {{}} and run gristmill login"
    return f"HTTP {status}"


async def _resolve(host: str, port: int) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    try:
        with anyio.fail_after(_CONNECT_SECONDS):
            found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise httpx2.ConnectError(f"{host} cannot be resolved: {type(error).__name__}") from None
    return [ipaddress.ip_address(entry[4][0].partition("%")[0]) for entry in found]
