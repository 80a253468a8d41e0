"""Transports for servers over HTTP (streamable HTTP and, for old servers, SSE), with caps and checks on each request.

A request that fails is answered with an error response: an exception would close the SDK's connection and end all
other calls on it.
"""

import ipaddress
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED

from gristmill.upstream.http.connection_pool import ConnectionPool
from gristmill.upstream.http.environment_proxy import ProxyChoice
from gristmill.upstream.http.message_bodies import BodyRules, EventBody, HeldMessages, LoginBody, MessageBody
from gristmill.upstream.http.public_addresses import Address, is_public
from gristmill.upstream.json_limits import JsonLimits, LimitSetting
from gristmill.upstream.mcp.inspected_stream import InspectedStream
from gristmill.upstream.mcp.message_id import find_message_id
from gristmill.upstream.mcp.translate_errors import TOO_LARGE
from gristmill.upstream.short_text import shorten_to_line

_CONNECT_SECONDS = 10.0
_QUIET_SECONDS = 300.0
"""A stream on which nothing has arrived for this long is opened again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAddress:
    """The address of a server. Its headers hold resolved secrets, so they are never printed."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cap: int = 32_000_000
    limits: JsonLimits = field(default_factory=JsonLimits)
    call_seconds: float = 60.0
    auth: httpx2.Auth | None = field(default=None, repr=False)
    proxies: ProxyChoice = field(default_factory=ProxyChoice, repr=False)
    speaks_mcp: bool = True
    """Whether failures are answered as MCP errors; for other APIs they are raised as exceptions."""


def make_http_transport(address: HttpAddress) -> AbstractAsyncContextManager[Any]:
    """Returns the SDK's streamable HTTP transport over a guarded client."""
    return _HttpTransport(address)


@asynccontextmanager
async def make_sse_transport(address: HttpAddress) -> AsyncGenerator[Any]:
    """Opens the SDK's SSE transport (protocol 2024-11-05) over a guarded client."""
    held = HeldMessages()

    def client(*_given: Any, **_more: Any) -> httpx2.AsyncClient:
        return make_guarded_client(address, held)

    async with sse_client(address.url, httpx_client_factory=client, auth=address.auth) as (read, write):
        yield InspectedStream(read, held.restore), write


def make_guarded_client(address: HttpAddress, held: HeldMessages | None = None) -> httpx2.AsyncClient:
    """Returns an HTTP client that caps answers, follows no redirects, and checks each request to another host.

    Answers are read as messages of MCP, and large ones are kept in ``held``; without it they are only capped.
    """
    read = max(_QUIET_SECONDS, address.call_seconds)
    return httpx2.AsyncClient(
        transport=AddressGuard(address, held=held),
        headers={"Accept-Encoding": "identity", **address.headers},
        timeout=httpx2.Timeout(read, connect=_CONNECT_SECONDS),
        auth=address.auth,
        follow_redirects=False,
    )


class _HttpTransport:
    """The SDK's transport together with its client: the SDK does not close a client that it was given."""

    def __init__(self, address: HttpAddress) -> None:
        self._held = HeldMessages()
        self._client = make_guarded_client(address, self._held)
        self._inner = streamable_http_client(address.url, http_client=self._client, max_sse_event_size=address.cap)

    async def __aenter__(self) -> Any:
        read, write = await self._inner.__aenter__()
        return InspectedStream(read, self._held.restore), write

    async def __aexit__(self, *problem: Any) -> bool | None:
        try:
            return await self._inner.__aexit__(*problem)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(2):
                await self._client.aclose()


class AddressGuard(httpx2.AsyncBaseTransport):
    """A transport between the client and the network that checks each request and caps each answer."""

    def __init__(
        self, address: HttpAddress, inner: httpx2.AsyncBaseTransport | None = None, held: HeldMessages | None = None
    ) -> None:
        self._home = httpx2.URL(address.url)
        self._cap = address.cap
        self._limits = address.limits
        self._held = held
        self._has_login = address.auth is not None
        self._speaks_mcp = address.speaks_mcp
        self._proxies = address.proxies
        self._inner = inner or ConnectionPool(address.proxies)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends ``request``, or answers with an error that says why it cannot be sent."""
        try:
            if _find_origin(request.url) != _find_origin(self._home):
                if not self._speaks_mcp:  # there is no login at such an API: a request elsewhere would carry our credentials
                    raise httpx2.UnsupportedProtocol(
                        f"a request to {request.url.host} is refused: the API is at {self._home.host}"
                    )
                request = await self._check_other_origin(request)
            response = await self._inner.handle_async_request(request)
        except httpx2.TransportError as error:
            if not self._speaks_mcp:
                raise
            return _make_error_response(503, CONNECTION_CLOSED, f"{type(error).__name__} {shorten_to_line(str(error))}".strip())
        if response.headers.get("content-encoding", "identity") != "identity":
            # We asked for no compression. Unpacking could turn a kilobyte into a gigabyte.
            await response.aclose()
            return self._refuse_too_large("the answer is compressed although we did not ask for it")
        if response.status_code >= 400 and not self._is_meaningful(response):
            await response.aclose()
            return _make_error_response(response.status_code, CONNECTION_CLOSED, _explain_status(response.status_code))
        return self._cap_body(request, response)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._inner.aclose()

    def _is_meaningful(self, response: httpx2.Response) -> bool:
        # 404 means that a session has ended, 401 and 403 start a login, JSON may hold an error of the protocol.
        if not self._speaks_mcp:
            return True
        is_login = self._has_login and response.status_code in (401, 403)
        return response.status_code in (404, 405) or is_login or "json" in response.headers.get("content-type", "")

    def _cap_body(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        declared = response.headers.get("content-length", "")
        is_stream = "event-stream" in response.headers.get("content-type", "")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        if not is_stream and declared.isdigit() and int(declared) > self._cap:
            return self._refuse_too_large(f"the answer of {declared} bytes is larger than the cap of {self._cap}")
        if self._held is None:
            response.stream = _CappedStream(response.stream, self._cap)
            return response
        if self._has_login and request.url != self._home:
            response.stream = LoginBody(response.stream, request.url.host)
            return response
        request_id = find_message_id(request.content, request.content) if request.method == "POST" else None
        rules = BodyRules(cap=self._cap, limits=self._limits, held=self._held, request_id=request_id)
        response.stream = EventBody(response.stream, rules) if is_stream else MessageBody(response.stream, rules)
        return response

    def _refuse_too_large(self, message: str) -> httpx2.Response:
        if not self._speaks_mcp:
            raise httpx2.StreamError(message)
        return _make_error_response(502, TOO_LARGE, message, "message_mb")

    async def _check_other_origin(self, request: httpx2.Request) -> httpx2.Request:
        """Checks a request to another host, port or scheme.

        Only a login goes there, to an address that the server named, so it is not trusted.
        """
        host, port, is_plain = request.url.host, request.url.port or 443, request.url.scheme != "https"
        if self._proxies.choose(request.url.scheme, host, port) is not None:
            return self._check_proxied_origin(request)
        addresses = await _resolve(host, port)
        if is_plain and host == self._home.host and self._home.scheme == "https":
            raise httpx2.UnsupportedProtocol(f"a login at {host} without TLS is refused: the server itself uses TLS")
        if not await self._is_internal(self._home.host):
            if is_plain:
                raise httpx2.UnsupportedProtocol(f"a login at {host} without TLS is refused")
            if not all(is_public(address) for address in addresses):
                raise httpx2.ConnectError(f"a login at {host} is refused: its address is internal")
        # Use the address that was checked: the name may resolve to another one next time.
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=str(addresses[0]))
        return request

    def _check_proxied_origin(self, request: httpx2.Request) -> httpx2.Request:
        """Checks a request to another host that a proxy will send. The proxy resolves names, and decides what may be reached."""
        host = request.url.host
        if request.url.scheme != "https":
            raise httpx2.UnsupportedProtocol(f"a login at {host} without TLS is refused")
        if (literal := _read_address(host)) is not None and not is_public(literal):
            raise httpx2.ConnectError(f"a login at {host} is refused: its address is internal")
        return request

    async def _is_internal(self, host: str) -> bool:
        if self._proxies.choose(self._home.scheme, host, self._home.port or 443) is not None:
            return False
        return not all(is_public(address) for address in await _resolve(host, 443))


class _CappedStream(httpx2.AsyncByteStream):
    """A body that fails when it is larger than the cap."""

    def __init__(self, stream: httpx2.AsyncByteStream, cap: int) -> None:
        self._stream = stream
        self._left = cap
        self._cap = cap

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._left -= len(chunk)
            if self._left < 0:
                # The SDK turns this class of error into the answer of a single call.
                raise httpx2.StreamError(f"the answer is larger than the cap of {self._cap} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _make_error_response(status: int, code: int, message: str, setting: LimitSetting | None = None) -> httpx2.Response:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message, "data": setting}}
    return httpx2.Response(max(status, 400), json=error)


def _explain_status(status: int) -> str:
    if status in (401, 403):
        return f"HTTP {status}: a token or a login is needed: set headers, or oauth = {{}} and run gristmill login"
    return f"HTTP {status}"


def _find_origin(url: httpx2.URL) -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or (80 if url.scheme == "http" else 443)


def _read_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


async def _resolve(host: str, port: int) -> list[Address]:
    try:
        with anyio.fail_after(_CONNECT_SECONDS):
            found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError) as error:
        raise httpx2.ConnectError(f"{host} cannot be resolved: {type(error).__name__}") from None
    return [ipaddress.ip_address(entry[4][0].partition("%")[0]) for entry in found]
