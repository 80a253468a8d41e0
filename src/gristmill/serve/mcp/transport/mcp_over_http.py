"""Serves MCP over streamable HTTP, as an ASGI application that runs alone or inside a larger one."""

import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gristmill.events import ConfigChanged
from gristmill.model import Identity
from gristmill.runs.served_runs import ServedRuns
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.tools.configured_servers import describe_servers
from gristmill.runtime.tools.example_import import choose_example
from gristmill.serve.access_tokens import hash_token
from gristmill.serve.host_header import read_host
from gristmill.serve.mcp.door_runs import DoorRuns
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.tools.known_servers import list_known_servers
from gristmill.serve.mcp.tools.server_instructions import write_instructions
from gristmill.serve.mcp.transport.session_owners import ALL, IDENTITY, IDLE_SECONDS, SessionOwners, read_identity

PATH = "/mcp"
BODY_BYTES = 8_000_000
HTTP_IDENTITY = Identity(caller="http")
"""The caller of every request with the one token of a door that has no other tokens."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


async def build_mcp_app(
    runtime: Runtime,
    *,
    token: str | None = None,
    hosts: tuple[str, ...] | None = LOOPBACK,
    served: ServedRuns | None = None,
) -> Starlette:
    """Builds the application for an open runtime, at ``/mcp``. An application that mounts it must enter its ``lifespan``.

    ``hosts`` are the host names that are accepted; None leaves the check of host and origin to a guard in front. ``served`` are
    the runs of the process, if another door has opened them.
    """
    servers = await list_known_servers(runtime)
    door = McpDoor(
        hall=wrap_runtime(runtime),
        instructions=write_instructions(describe_servers(runtime.config, servers)),
        server_names=tuple(sorted(servers)),
        example=choose_example(servers),
        masks=runtime.config.mask.mode != "off",
        identify_caller=identify_http_caller,
        on_wire=True,
        direct_calls=runtime.config.serve.direct_calls,
        runs=DoorRuns(served),
    )
    server = build_server(door)

    def take_note(change: ConfigChanged) -> None:
        door.take_note(change)
        now = dict.fromkeys(door.servers_now, ())
        server.instructions = write_instructions(describe_servers(runtime.config, now))  # for connections that begin later

    runtime.config_listeners.append(take_note)
    return build_guarded_app(server, door, token=token, hosts=hosts, body_bytes=runtime.config.serve.body_bytes)


def build_guarded_app(
    server: Server[Any], door: McpDoor | None, *, token: str | None, hosts: tuple[str, ...] | None, body_bytes: int = BODY_BYTES
) -> Starlette:
    """Builds the application of ``server`` with its guards: only host names and origins of this host, and the token if one is
    given."""
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
    app.add_middleware(SessionOwners)
    if hosts is not None:
        app.add_middleware(RequireExactHost)
    if token is not None:
        app.add_middleware(RequireToken, token=token)  # the middleware that is added last runs first
    return app


class RequireExactHost:
    """ASGI middleware that refuses host names of another form than ``name`` or ``name:port``: the SDK compares only how they
    begin."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on or refuses it."""
        given = [value.decode("latin-1") for name, value in scope.get("headers", ()) if name == b"host"]
        if scope["type"] == "http" and (len(given) != 1 or not read_host(given[0])):
            await JSONResponse({"error": "this host name is not known here"}, 421)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class RequireToken:
    """ASGI middleware that refuses every request without the bearer token, before its body is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._hash_token = hash_token(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on or refuses it."""
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            scheme, _, given = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
            # Digests of equal length, compared in constant time: the time of a refusal reveals nothing.
            if scheme.lower() != "bearer" or not hmac.compare_digest(hash_token(given.strip()), self._hash_token):
                refused = JSONResponse({"error": "a bearer token is required"}, 401, {"WWW-Authenticate": "Bearer"})
                await refused(scope, receive, send)
                return
            scope[IDENTITY] = (
                HTTP_IDENTITY  # there is one token for one person; after a change of the token the sessions stay theirs
            )
        await self._app(scope, receive, send)


def identify_http_caller(ctx: Ctx) -> Identity:
    """Returns the caller that the guard in front wrote into the ASGI scope; the local user without a guard."""
    return read_identity(getattr(ctx.request, "scope", None) or {})
