"""Logs in to HTTP servers with OAuth, through the SDK's client. Here are the storage and the browser callback that it needs.

The SDK's client does metadata discovery, PKCE, client id metadata documents, the issuer check, refresh, and dynamic
registration as the last resort.
"""

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import httpx2
from anyio.abc import SocketAttribute, SocketStream
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from msgspec import Struct
from pydantic import AnyUrl, BaseModel, ValidationError

from gristmill.config.sections.servers_section import OAuthConfig
from gristmill.upstream.login.token_store import TokenStore
from gristmill.upstream.secret_references import SecretReferences

_EARLY_SECONDS = 30.0
"""A token counts as expired this many seconds early: it must still be valid when it arrives."""

_PAGE = b"You are logged in. You can close this page."


class LoginBrowser(Struct, frozen=True, kw_only=True):
    """A person who can log in with a browser: ``show`` shows an address, and the browser then returns to ``redirect_uri``."""

    redirect_uri: str
    show: Callable[[str], Awaitable[None]]
    wait_for_return: Callable[[], Awaitable[AuthorizationCodeResult]]


class _LoginRecord(BaseModel):
    """What is stored about a login. The endpoints are stored too: a refresh must go to the server that issued the token."""

    format: Literal[1] = 1
    tokens: OAuthToken | None = None
    expires_at: float | None = None
    client: OAuthClientInformationFull | None = None
    server: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None


class _LoginStorage:
    """The SDK's token storage on top of a ``TokenStore``."""

    def __init__(self, store: TokenStore, redirect_uri: str | None, clock: Callable[[], float]) -> None:
        self._store = store
        self._redirect_uri = redirect_uri
        self._clock = clock
        self.provider: OAuthClientProvider | None = None
        self.preset: OAuthClientInformationFull | None = None

    async def record(self) -> _LoginRecord:
        text = await anyio.to_thread.run_sync(self._store.read)
        try:
            return _LoginRecord.model_validate_json(text) if text else _LoginRecord()
        except ValidationError:
            return _LoginRecord()  # written by another version of Gristmill: a new login is needed

    async def get_tokens(self) -> OAuthToken | None:
        record = await self.record()
        self._restore_endpoints(record)
        ends = record.expires_at - _EARLY_SECONDS if record.expires_at else None
        if self.provider:
            self.provider.context.token_expiry_time = ends  # the SDK does not store it, and would require a new login
        if record.tokens and ends and ends <= self._clock():
            # An empty token makes the SDK refresh it at once.
            return record.tokens.model_copy(update={"access_token": ""})
        return record.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        record = await self.record()
        context = self.provider.context if self.provider else None
        ends = self._clock() + tokens.expires_in if tokens.expires_in else None
        update = {"tokens": tokens, "expires_at": ends}
        if context and context.oauth_metadata:
            update |= {"server": context.oauth_metadata, "resource": context.protected_resource_metadata}
        await self._write_record(record.model_copy(update=update))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self.preset or (await self.record()).client
        known = [str(uri) for uri in client.redirect_uris or ()] if client else []
        if self._redirect_uri and known and self._redirect_uri not in known and client is not self.preset:
            return None  # registered for another port: the server would refuse the port that we use now
        return client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await self._write_record((await self.record()).model_copy(update={"client": client_info}))

    async def _write_record(self, record: _LoginRecord) -> None:
        await anyio.to_thread.run_sync(self._store.write, record.model_dump_json(exclude_none=True))

    def _restore_endpoints(self, record: _LoginRecord) -> None:
        if self.provider and record.server:
            context = self.provider.context
            context.oauth_metadata = context.oauth_metadata or record.server
            context.protected_resource_metadata = context.protected_resource_metadata or record.resource
            context.auth_server_url = context.auth_server_url or str(record.server.issuer)


def make_login_provider(
    url: str,
    config: OAuthConfig,
    secrets: SecretReferences,
    store: TokenStore,
    *,
    browser: LoginBrowser | None = None,
    clock: Callable[[], float] = time.time,
) -> OAuthClientProvider:
    """Returns the SDK's OAuth client for ``url``. Without a ``browser`` it only uses and refreshes stored tokens."""
    redirect_uri = browser.redirect_uri if browser else None
    storage = _LoginStorage(store, redirect_uri, clock)
    address = redirect_uri or "http://127.0.0.1/callback"
    if config.client_id:
        secret = secrets.resolve(config.client_secret) if config.client_secret else None
        method = "client_secret_basic" if secret else "none"
        storage.preset = OAuthClientInformationFull(
            client_id=config.client_id,
            client_secret=secret,
            redirect_uris=[AnyUrl(address)],
            token_endpoint_auth_method=method,
        )
    provider = OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="Gristmill", redirect_uris=[AnyUrl(address)], scope=" ".join(config.scopes) or None),
        storage,
        redirect_handler=browser.show if browser else _refuse_to_show,
        callback_handler=browser.wait_for_return if browser else _refuse_to_return,
        client_metadata_url=config.client_metadata_url,
    )
    storage.provider = provider
    return provider


class SharedLogin(httpx2.Auth):
    """Sends requests in parallel while the token is valid; the SDK's client lets through one request at a time."""

    def __init__(self, provider: OAuthClientProvider) -> None:
        self._provider = provider

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Sends the request with a valid token if there is one; otherwise, or after a refusal, follows the SDK's flow."""
        context = self._provider.context
        if context.is_token_valid() and context.current_tokens:
            request.headers["Authorization"] = f"Bearer {context.current_tokens.access_token}"
            response = yield request
            if response.status_code not in (401, 403):
                return
        flow = self._provider.async_auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                outgoing = await flow.asend((yield outgoing))
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()


async def _refuse_to_show(_url: str) -> None:
    raise OAuthFlowError("no login is stored, or it has expired")


async def _refuse_to_return() -> AuthorizationCodeResult:
    raise OAuthFlowError("a login needs a person at a browser")


@asynccontextmanager
async def listen_for_browser(
    show: Callable[[str], Awaitable[None]], *, port: int = 0, seconds: float = 300.0
) -> AsyncGenerator[LoginBrowser]:
    """Listens on a loopback address for the browser to return from a login; ``show`` gets the address to visit."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port)
    results, found = anyio.create_memory_object_stream[AuthorizationCodeResult](1)
    taken = listener.extra(SocketAttribute.local_port)  # noqa: S610  # anyio's attribute, not Django's

    async def answer(stream: SocketStream) -> None:
        async with stream:
            with anyio.move_on_after(5):
                result = _parse_return(await stream.receive(8_192))
                status = b"200 OK" if result else b"404 Not Found"
                body = _PAGE if result else b""
                head = b"HTTP/1.1 %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                await stream.send(head % (status, len(body)) + body)
                if result:
                    results.send_nowait(result)

    async def wait_for_return() -> AuthorizationCodeResult:
        with anyio.fail_after(seconds):
            return await found.receive()

    async with listener, results, found, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, answer)
        yield LoginBrowser(redirect_uri=f"http://127.0.0.1:{taken}/callback", show=show, wait_for_return=wait_for_return)
        tasks.cancel_scope.cancel()


def _parse_return(request: bytes) -> AuthorizationCodeResult | None:
    """Parses the parameters of ``GET /callback?...``; returns None for any other request."""
    method, _, rest = request.partition(b" ")
    target = urlsplit(rest.partition(b" ")[0].decode(errors="replace"))
    if method != b"GET" or target.path != "/callback":
        return None
    given = {key: values[0] for key, values in parse_qs(target.query).items()}
    return AuthorizationCodeResult(code=given.get("code", ""), state=given.get("state"), iss=given.get("iss"))
