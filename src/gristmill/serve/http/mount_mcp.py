"""What hangs in the same application beside the routes: MCP at ``/mcp`` behind the same wall and tokens, and the dashboard."""

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
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.json_logs import begin_request, say
from gristmill.serve.http.limits.request_bodies import held_body
from gristmill.serve.http.request_handling import answer, level_of, replayed
from gristmill.serve.http.watched import Watched

_MCP = "gristmill.serve.mcp.transport.mcp_over_http"


def known_mounts() -> tuple[Mount, ...]:
    """The dashboard, and those whose door is installed. To be asked for before the runtime is opened."""
    if not importlib.util.find_spec("gristmill.serve.mcp"):
        return (mount_dashboard,)
    # Now, not at the start of the application: a runtime that opens imports the same packages in a thread, and modules that
    # import each other in a circle, as those of `mcp` do, break when they are loaded from two sides at once.
    importlib.import_module(_MCP)
    return mount_mcp, mount_dashboard


class Guarded:
    """An ASGI application behind our door: the wall, then who asks, who may execute. It finds the caller in its scope."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let through or refuse, and log which."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500
        id_ = begin_request(HTTPConnection(scope).headers.get("x-request-id", ""))

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", id_.encode())]}
            await send(message)

        try:
            await self._pass(scope, receive, note)
        finally:
            self._door.runtime.metrics.answered(scope["path"], status)
            ms, level = round((time.perf_counter() - began) * 1000, 2), level_of(status, scope["path"])
            who = scope.get("state", {}).get("who")
            tenant, caller = (who.tenant, who.caller) if who else (None, None)
            say(
                "request", level=level, method=scope["method"], route=scope["path"], status=status, ms=ms, tenant=tenant,
                caller=caller,
            )  # fmt: skip

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        door, request = self._door, Request(scope, receive)
        async with AsyncExitStack() as stack:
            try:
                door.wall.check(request.headers, scope["method"])
                who = await door.admit(request)
                who.needs("execute")
                held = held_body(request, door.config, door.budget, who.tenant)
                body = await stack.enter_async_context(held) if scope["method"] == "POST" else b""
            except (Error, ClientDisconnect) as error:
                await answer(error)(scope, receive, send)
                return
            scope["gristmill.caller"], scope["gristmill.tenant"] = who.caller, who.tenant
            scope["gristmill.approves"] = "approve" in who.scopes
            await self._app(scope, replayed(request, body).receive, send)


@asynccontextmanager
async def mount_mcp(door: Door, app: FastAPI) -> AsyncGenerator[None]:
    """MCP over streamable HTTP, with the SDK's own session manager running as long as we do."""
    mcp: Any = importlib.import_module(_MCP)
    made = await mcp.mcp_app(Watched(door), hosts=None)  # whoever is not ours does not come so far
    # A route and no mount: it answers at /mcp itself, and everything else stays ours.
    app.router.routes.append(Route(mcp.PATH, Guarded(made, door), include_in_schema=False))
    async with made.router.lifespan_context(made):
        yield
