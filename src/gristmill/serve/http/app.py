"""The routes as one router, and the application around it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response, Security
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import compile_path

from gristmill import __version__
from gristmill.runtime.runtime import Runtime
from gristmill.serve.http.api_shapes import Problem
from gristmill.serve.http.http_door import Authenticate, Door, open_door
from gristmill.serve.http.json_logs import begin_request, say
from gristmill.serve.http.request_handling import HEADERS, UNMATCHED, answer, route_class
from gristmill.serve.http.routes.docs_page import add_pages
from gristmill.serve.http.routes.routes_approvals import add_approvals
from gristmill.serve.http.routes.routes_audit import add_audit
from gristmill.serve.http.routes.routes_events import add_events
from gristmill.serve.http.routes.routes_execute import add_execute
from gristmill.serve.http.routes.routes_executions import add_executions
from gristmill.serve.http.routes.routes_files import add_files
from gristmill.serve.http.routes.routes_health import add_health, add_metrics
from gristmill.serve.http.routes.routes_sessions import add_sessions
from gristmill.serve.http.routes.routes_skills import add_skills
from gristmill.serve.http.routes.routes_tools import add_tools
from gristmill.serve.http.routes.routes_whoami import add_who
from gristmill.serve.http.routes.websocket import add_socket

_PROBLEM: dict[str, Any] = {
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}, "description": "A problem.",
}  # fmt: skip
PROBLEMS: dict[int | str, dict[str, Any]] = {"4XX": _PROBLEM, "5XX": _PROBLEM, 422: _PROBLEM, "default": {"model": Problem}}

_SENT = (
    "Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Request-ID", "Mcp-Session-Id",
    "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
)  # fmt: skip
_TOLD = ("Idempotency-Replayed", "Location", "Retry-After", "X-Request-ID", "Mcp-Session-Id")
"""Headers that pages of other origins may send and read, where the configuration names such."""

Mount = Callable[[Door, FastAPI], AbstractAsyncContextManager[None]]
"""Hangs something else into the application, such as MCP or a dashboard, for as long as it is open."""


def router(runtime: Runtime, *, authenticate: Authenticate | None = None) -> APIRouter:
    """Every route, to be included in a FastAPI application under any prefix.

    ``authenticate`` says who asks; without it only this machine is let in, as ``gristmill serve --http`` does by default. Open
    the runtime with ``serving=True``, so that an answer goes back only when its record is kept.
    """
    return routes_of(open_door(runtime, authenticate, everywhere=authenticate is not None))


def routes_of(door: Door) -> APIRouter:
    """The routes of a door."""
    bearer = HTTPBearer(auto_error=False, description="A token of `gristmill tokens create`; on this machine none is needed.")
    routes = APIRouter(route_class=route_class(door), responses=PROBLEMS, dependencies=[Security(bearer)])
    for add in (
        add_execute, add_tools, add_sessions, add_files, add_skills, add_executions, add_approvals, add_audit, add_metrics,
        add_who, add_events,
    ):  # fmt: skip
        add(routes, door)
    routes.dependencies = []  # what comes now needs no token, or asks for it itself
    add_health(routes, door)
    add_socket(routes, door)
    return routes  # one router: each within another has every request matched twice as often


def build_app(door: Door, *mounts: Mount) -> FastAPI:
    """The application of ``gristmill serve --http``; ``mounts`` are open as long as it is."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for mount in mounts:
                await stack.enter_async_context(mount(door, app))
            yield

    app = FastAPI(
        title="Gristmill",
        version=__version__,
        description="Run model-written Python behind a kernel wall, with the tools of every connected MCP server.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # its spans tell addresses with what was asked for
        lifespan=lifespan,
    )
    if door.config.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=door.config.origins, allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=_SENT, expose_headers=_TOLD,
        )  # fmt: skip
    app.include_router(routes_of(door))
    add_pages(app)

    @app.exception_handler(HTTPException)
    async def unknown(request: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        response = answer(error)
        id_ = begin_request(request.headers.get("x-request-id", ""))
        response.headers.update({**HEADERS, **(error.headers or {}), "X-Request-ID": id_})
        door.runtime.metrics.answered(UNMATCHED, error.status_code)
        say("request", method=request.method, route=UNMATCHED, status=error.status_code)
        if error.status_code == 405 and (allowed := _allowed(app, request.url.path)):
            response.headers["Allow"] = allowed
        return response

    return app


def _allowed(app: FastAPI, path: str) -> str:
    """Every method that a path has; the framework names those of the first route that fits."""
    found: set[str] = set()
    for template, methods in app.openapi()["paths"].items():
        # The schema drops what kind of parameter it is: a file's path is the one that may hold slashes.
        if compile_path(template.replace("/files/{path}", "/files/{path:path}"))[0].match(path):
            found |= {method.upper() for method in methods}
    return ", ".join(sorted(found))
