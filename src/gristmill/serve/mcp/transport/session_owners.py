"""Whose an MCP session over HTTP is: its id alone opens nothing, and nobody has so many that others find no room."""

import time
from collections.abc import Callable

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gristmill.serve.mcp.who import LOCAL
from gristmill.values import dataclass

CALLER, TENANT = "gristmill.caller", "gristmill.tenant"
"""Where in the ASGI scope a guard writes who the verified caller is, and of which tenant."""
PER_TENANT, ALL = 500, 4_000
"""Sessions that one tenant, and everybody together, may have open."""
IDLE_SECONDS = 1_800.0
"""After so long without a request the SDK ends a session."""
_SESSION, _REVISION = b"mcp-session-id", b"mcp-protocol-version"


@dataclass(slots=True)
class _Open:
    tenant: str
    used: float
    requests: int


class Owners:
    """Tells the SDK who asks, which then gives a session to nobody but its owner, and counts sessions by tenant."""

    def __init__(self, app: ASGIApp, *, most: int = PER_TENANT, clock: Callable[[], float] = time.monotonic) -> None:
        self._app, self._most, self._clock = app, most, clock
        self._open: dict[object, _Open] = {}
        """By the id of the session; by something of their own those that may come of a request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request as its caller's."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller, tenant = str(scope.get(CALLER, LOCAL.caller)), str(scope.get(TENANT, LOCAL.tenant))
        key: object = _header(scope["headers"], _SESSION)
        if key is None and _may_open(scope):
            if self._count(tenant) >= self._most:
                told = {"code": "limit.busy", "message": f"{self._most} MCP sessions of yours are open: end some with DELETE"}
                await JSONResponse(told, 429, {"Retry-After": "60"})(scope, receive, send)
                return
            key = object()  # counted before it is answered: a thousand at once would all find room
            self._open[key] = _Open(tenant, self._clock(), requests=0)
        # The SDK compares this with whoever opened the session.
        user = AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))
        await self._serve({**scope, "user": user}, receive, send, tenant, key)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, tenant: str, key: object) -> None:
        known = self._open.get(key)
        if known is None or known.tenant != tenant:
            await self._app(scope, receive, send)
            return

        is_found, is_refused = True, True

        async def note(message: Message) -> None:
            nonlocal key, is_found, is_refused
            if message["type"] == "http.response.start":
                is_found, is_refused = message["status"] != 404, message["status"] >= 400
                made = _header(message.get("headers", ()), _SESSION)
                if made is not None and not is_refused and not isinstance(key, str):
                    self._open[made] = self._open.pop(key)
                    key = made
            await send(message)

        known.requests += 1
        try:
            await self._app(scope, receive, note)
        finally:
            known.requests -= 1
            if is_found:  # else the SDK knows no such session of this caller: nothing was used
                known.used = self._clock()
            # One that was not opened is none; one whose end was refused still is.
            if not isinstance(key, str) or (scope["method"] == "DELETE" and not is_refused):
                self._open.pop(key, None)

    def _count(self, tenant: str) -> int:
        since = self._clock() - IDLE_SECONDS
        for id_ in [id_ for id_, one in self._open.items() if not one.requests and one.used < since]:
            del self._open[id_]
        return sum(one.tenant == tenant for one in self._open.values())


def _may_open(scope: Scope) -> bool:
    """Whether the request may open a session; those of newer revisions of the protocol never do."""
    revision = _header(scope["headers"], _REVISION)
    return scope["method"] == "POST" and (revision is None or revision in HANDSHAKE_PROTOCOL_VERSIONS)


def _header(headers: "list[tuple[bytes, bytes]] | tuple[()]", wanted: bytes) -> str | None:
    return next((value.decode("latin-1") for name, value in headers if name.lower() == wanted), None)
