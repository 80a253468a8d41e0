"""Adds MCP at ``/mcp`` to the HTTP application, behind the same request wall and tokens, and lists all mounts."""

import importlib
import importlib.util
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gristmill.errors import Error
from gristmill.serve.dashboard.mount import mount_dashboard
from gristmill.serve.http.app import Mount
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.json_logs import begin_request, log_event
from gristmill.serve.http.limits.request_bodies import hold_body
from gristmill.serve.http.limits.strict_json import check_keys
from gristmill.serve.http.request_handling import build_error_response, choose_log_level, replay_body

_MCP = "gristmill.serve.mcp.transport.mcp_over_http"


def list_mounts() -> tuple[Mount, ...]:
    """Returns the dashboard, and MCP if it is installed. To be called before the runtime is opened."""
    if not importlib.util.find_spec("gristmill.serve.mcp"):
        return (mount_dashboard,)
    # Imported now, not at the start of the application: an opening runtime imports the same packages in a thread, and modules
    # that import each other in a circle, as those of `mcp` do, fail if two threads import them at once.
    importlib.import_module(_MCP)
    return mount_mcp, mount_dashboard


class GuardedApp:
    """Guards an ASGI application: checks request, token and the scope ``execute``, and writes the caller into the ASGI scope."""

    def __init__(self, app: ASGIApp, door: HttpDoor) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on or refuses it, and logs the answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        id_ = begin_request(HTTPConnection(scope).headers.get("x-request-id", ""))

        async def send_and_note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", id_.encode())]}
            await send(message)

        try:
            await self._guard_request(scope, receive, send_and_note_status)
        finally:
            self._door.runtime.metrics.count_http_request(scope["path"], status)
            ms, level = round((time.perf_counter() - began) * 1000, 2), choose_log_level(status, scope["path"])
            who = scope.get("state", {}).get("who")
            tenant, caller = (who.tenant, who.identity.caller) if who else (None, None)
            log_event(
                "request", level=level, method=scope["method"], route=scope["path"], status=status, ms=ms, tenant=tenant,
                caller=caller,
            )  # fmt: skip

    async def _guard_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        door, request = self._door, Request(scope, receive)
        async with AsyncExitStack() as stack:
            try:
                door.wall.check(request.headers, scope["method"])
                who = await door.admit(request)
                who.require_scope("execute")
                held = hold_body(request, door.config, door.budget, who.tenant)
                body = await stack.enter_async_context(held) if scope["method"] == "POST" else b""
                await check_keys(body)
            except (Error, ClientDisconnect) as error:
                await build_error_response(error)(scope, receive, send)
                return
            scope["gristmill.identity"] = who.identity
            scope["gristmill.approves"] = "approve" in who.scopes
            await self._app(scope, replay_body(request, body).receive, send)


@asynccontextmanager
async def mount_mcp(door: HttpDoor, app: FastAPI) -> AsyncGenerator[None]:
    """Adds MCP over streamable HTTP; the SDK's session manager runs as long as the context is open."""
    mcp: Any = importlib.import_module(_MCP)
    made = await mcp.build_mcp_app(
        door.runtime, hosts=None, served=door.served
    )  # the guard in front has checked the host already
    # A route, not a mount: it answers at /mcp itself, and all other paths stay with the application.
    app.router.routes.append(Route(mcp.PATH, GuardedApp(made, door), include_in_schema=False))
    async with made.router.lifespan_context(made):
        yield
