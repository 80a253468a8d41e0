"""Binds MCP sessions over HTTP to their callers: a session id alone gives no access. Limits the open sessions of each tenant."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from msgspec import Struct
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gristmill.model import LOCAL_IDENTITY, Identity

IDENTITY = "gristmill.identity"
"""The key of the ASGI scope under which a guard writes the verified caller."""
PER_TENANT, ALL = 500, 4_000
"""How many sessions one tenant, and all tenants together, may have open."""
IDLE_SECONDS = 1_800.0
"""After this time without a request the SDK ends a session."""
_SESSION, _REVISION = b"mcp-session-id", b"mcp-protocol-version"


class _OpenSession(Struct):
    tenant: str
    used: float
    requests: int


class SessionOwners:
    """ASGI middleware that tells the SDK the caller, so that only its owner can use a session, and counts sessions by tenant."""

    def __init__(self, app: ASGIApp, *, most: int = PER_TENANT, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._most, self._clock = app, most, clock
        self._open: dict[object, _OpenSession] = {}
        """The open sessions by id. A request that may open one has an entry under an object of its own until it is answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves the request in the name of its caller."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        identity = read_identity(scope)
        tenant = identity.tenant
        key: object = _find_header(scope["headers"], _SESSION)
        if key is None and _may_open(scope):
            if self._count_sessions(tenant) >= self._most:
                problem = {"code": "limit.busy", "message": f"{self._most} of your MCP sessions are open: end some with DELETE"}
                await JSONResponse(problem, 429, {"Retry-After": "60"})(scope, receive, send)
                return
            key = object()  # counted before it is answered: otherwise a thousand requests at once would all be accepted
            self._open[key] = _OpenSession(tenant, self._clock(), requests=0)
        # The SDK compares this with the user who opened the session.
        user = AuthenticatedUser(AccessToken(token="", client_id=identity.caller, scopes=[]))
        await self._serve_counted({**scope, "user": user}, receive, send, tenant, key)

    async def _serve_counted(self, scope: Scope, receive: Receive, send: Send, tenant: str, key: object) -> None:
        known = self._open.get(key)
        if known is None or known.tenant != tenant:
            await self._app(scope, receive, send)
            return

        is_found, is_refused = True, True

        async def send_and_note_session(message: Message) -> None:
            nonlocal key, is_found, is_refused
            if message["type"] == "http.response.start":
                is_found, is_refused = message["status"] != 404, message["status"] >= 400
                made = _find_header(message.get("headers", ()), _SESSION)
                if made is not None and not is_refused and not isinstance(key, str):
                    self._open[made] = self._open.pop(key)
                    key = made
            await send(message)

        known.requests += 1
        try:
            await self._app(scope, receive, send_and_note_session)
        finally:
            known.requests -= 1
            if is_found:  # otherwise the SDK knows no such session of this caller, and none was used
                known.used = self._clock()
            # Remove the entry if no session was opened, or if the session was ended; a refused DELETE ends nothing.
            if not isinstance(key, str) or (scope["method"] == "DELETE" and not is_refused):
                self._open.pop(key, None)

    def _count_sessions(self, tenant: str) -> int:
        since = self._clock() - IDLE_SECONDS
        for id_ in [id_ for id_, one in self._open.items() if not one.requests and one.used < since]:
            del self._open[id_]
        return sum(one.tenant == tenant for one in self._open.values())


def read_identity(scope: Mapping[str, Any]) -> Identity:
    """Returns the caller that the guard in front wrote into the ASGI scope; the local user without a guard."""
    found = scope.get(IDENTITY, LOCAL_IDENTITY)
    assert isinstance(found, Identity)
    return found


def _may_open(scope: Scope) -> bool:
    """Whether the request may open a session; requests of newer revisions of the protocol never do."""
    revision = _find_header(scope["headers"], _REVISION)
    return scope["method"] == "POST" and (revision is None or revision in HANDSHAKE_PROTOCOL_VERSIONS)


def _find_header(headers: "list[tuple[bytes, bytes]] | tuple[()]", wanted: bytes) -> str | None:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == wanted), None)
