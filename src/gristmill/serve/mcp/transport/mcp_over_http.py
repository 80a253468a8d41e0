"""MCP over streamable HTTP, as an ASGI application that can run alone or be mounted by a larger one."""

import hashlib
import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gristmill.runtime.runtime import Runtime
from gristmill.serve.mcp.get_runtime import opened
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.tools.known_servers import known_servers
from gristmill.serve.mcp.tools.server_instructions import instructions
from gristmill.serve.mcp.transport.session_owners import ALL, CALLER, IDLE_SECONDS, TENANT, Owners
from gristmill.serve.mcp.who import LOCAL, Who

PATH = "/mcp"
BODY_BYTES = 8_000_000
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


async def mcp_app(runtime: Runtime, *, token: str | None = None, hosts: tuple[str, ...] | None = LOOPBACK) -> Starlette:
    """The application for an open runtime, at ``/mcp``. Mounted elsewhere, its ``lifespan`` must be entered by the mounter.

    ``hosts`` are the names by which it may be addressed; None leaves that, and foreign pages, to a guard in front.
    """
    servers = await known_servers(runtime)
    door = Door(
        hall=opened(runtime),
        instructions=instructions(servers),
        names=tuple(sorted(servers)),
        who=http_caller,
        on_wire=True,
        direct_calls=runtime.config.serve.direct_calls,
    )
    return app_of(build_server(door), door, token=token, hosts=hosts, body_bytes=runtime.config.serve.body_bytes)


def app_of(
    server: Server[Any], door: Door | None, *, token: str | None, hosts: tuple[str, ...] | None, body_bytes: int = BODY_BYTES
) -> Starlette:
    """``server`` behind the guards: names of this host only, origins of this host only, a token where there is one."""
    names = hosts or ()
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=body_bytes,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=ALL,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=hosts is not None,
            allowed_hosts=[name for host in names for name in (host, f"{host}:*")],
            allowed_origins=[name for host in names for name in (f"http://{host}", f"http://{host}:*", f"https://{host}")],
        ),
    )
    inner = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(starlette: Starlette) -> AsyncGenerator[Any]:
        async with inner(starlette) as state:
            try:
                yield state
            finally:
                if door:
                    await door.close()

    app.router.lifespan_context = lifespan
    app.add_middleware(Owners)
    if token is not None:
        app.add_middleware(RequireToken, token=token)  # the last one that is added is the first that is asked
    return app


class RequireToken:
    """Refuses every request without the bearer token, before anything of it is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._digest = _digest(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through or refuse."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            scheme, _, given = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            # Digests of equal length, compared in constant time: nothing can be learned from how long a no takes.
            if scheme.lower() != "bearer" or not hmac.compare_digest(_digest(given.strip()), self._digest):
                refused = JSONResponse({"error": "a bearer token is needed"}, 401, {"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, send)
                return
            scope[CALLER] = "http"  # one token is one person; it may be changed without losing the sessions
        await self._app(scope, receive, send)


def http_caller(ctx: Ctx) -> Who:
    """Whose request it is, by what the guard in front wrote into the scope; ``local`` where there is none."""
    scope: Any = getattr(ctx.request, "scope", None) or {}
    return Who(str(scope.get(CALLER, LOCAL.caller)), str(scope.get(TENANT, LOCAL.tenant)))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
