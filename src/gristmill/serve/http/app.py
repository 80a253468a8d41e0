"""Builds the router with all routes, and the application around it."""

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
from gristmill.serve.http.http_door import Authenticate, HttpDoor, open_door
from gristmill.serve.http.json_logs import begin_request, log_event
from gristmill.serve.http.request_handling import (
    HEADERS,
    PROBLEM_RESPONSE,
    UNMATCHED_ROUTE,
    build_error_response,
    build_route_class,
)
from gristmill.serve.http.routes.docs_page import add_docs_page
from gristmill.serve.http.routes.routes_approvals import add_approvals
from gristmill.serve.http.routes.routes_audit import add_audit
from gristmill.serve.http.routes.routes_chat import add_chat
from gristmill.serve.http.routes.routes_completions import add_completions
from gristmill.serve.http.routes.routes_events import add_events
from gristmill.serve.http.routes.routes_execute import add_execute
from gristmill.serve.http.routes.routes_executions import add_executions, add_revert
from gristmill.serve.http.routes.routes_files import add_files
from gristmill.serve.http.routes.routes_health import add_health, add_metrics
from gristmill.serve.http.routes.routes_rollout import add_arms, add_rollout
from gristmill.serve.http.routes.routes_sessions import add_sessions
from gristmill.serve.http.routes.routes_skills import add_skills
from gristmill.serve.http.routes.routes_tools import add_tools
from gristmill.serve.http.routes.routes_whoami import add_whoami
from gristmill.serve.http.routes.websocket import add_websocket
from gristmill.serve.http.shapes.api_shapes import ProblemView

PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": PROBLEM_RESPONSE, "5XX": PROBLEM_RESPONSE, 422: PROBLEM_RESPONSE, "default": {"model": ProblemView},
}  # fmt: skip

_REQUEST_HEADERS = (
    "Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID", "X-Request-ID", "Mcp-Session-Id",
    "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name",
)  # fmt: skip
_RESPONSE_HEADERS = ("Idempotency-Replayed", "Location", "Retry-After", "X-Request-ID", "Mcp-Session-Id")
"""Headers that pages of other origins may send and read, if the configuration names such origins."""

Mount = Callable[[HttpDoor, FastAPI], AbstractAsyncContextManager[None]]
"""Adds something else to the application, such as MCP or the dashboard, for as long as the context is open."""


def router(runtime: Runtime, *, authenticate: Authenticate | None = None) -> APIRouter:
    """Builds a router with every route, to be included in a FastAPI application under any prefix.

    ``authenticate`` identifies the caller of a request; without it only requests from this machine are accepted, as
    ``gristmill serve --http`` does by default. Open the runtime with ``serving=True``, so that an answer is sent only after its
    record is stored.
    """
    return build_routes(open_door(runtime, authenticate, everywhere=authenticate is not None))


def build_routes(door: HttpDoor) -> APIRouter:
    """Builds the router with every route of ``door``."""
    bearer = HTTPBearer(
        auto_error=False, description="A token of `gristmill tokens create`; requests from the same machine need none."
    )
    routes = APIRouter(route_class=build_route_class(door), responses=PROBLEMS, dependencies=[Security(bearer)])
    for add in (
        add_execute, add_tools, add_sessions, add_files, add_skills, add_executions, add_revert, add_approvals, add_audit,
        add_metrics, add_whoami, add_events, add_chat, add_completions, add_arms, add_rollout,
    ):  # fmt: skip
        add(routes, door)
    routes.dependencies = []  # the following routes need no token, or check it themselves
    add_health(routes, door)
    add_websocket(routes, door)
    return routes  # one router: every nested router would match each request once more


def build_app(door: HttpDoor, *mounts: Mount) -> FastAPI:
    """Builds the application of ``gristmill serve --http``; ``mounts`` are open as long as it runs."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for mount in mounts:
                await stack.enter_async_context(mount(door, app))
            yield

    app = FastAPI(
        title="Gristmill",
        version=__version__,
        description="Run model-written Python in a kernel-enforced sandbox, with the tools of every connected MCP server.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # its spans would contain addresses with their queries
        lifespan=lifespan,
    )
    if door.config.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=door.config.origins, allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=_REQUEST_HEADERS, expose_headers=_RESPONSE_HEADERS,
        )  # fmt: skip
    app.include_router(build_routes(door))
    add_docs_page(app)

    @app.exception_handler(HTTPException)
    async def answer_unmatched(request: Request, error: HTTPException) -> Response:  # pyright: ignore[reportUnusedFunction]
        response = build_error_response(error)
        id_ = begin_request(request.headers.get("x-request-id", ""))
        response.headers.update({**HEADERS, **(error.headers or {}), "X-Request-ID": id_})
        door.runtime.metrics.count_http_request(UNMATCHED_ROUTE, error.status_code)
        log_event("request", method=request.method, route=UNMATCHED_ROUTE, status=error.status_code)
        if error.status_code == 405 and (allowed := _list_allowed_methods(app, request.url.path)):
            response.headers["Allow"] = allowed
        return response

    return app


def _list_allowed_methods(app: FastAPI, path: str) -> str:
    """Returns every method that ``path`` accepts; the framework names only the methods of the first route that matches."""
    found: set[str] = set()
    for template, methods in app.openapi()["paths"].items():
        # The schema does not say which parameters may contain slashes: only the path of a file may.
        if compile_path(template.replace("/files/{path}", "/files/{path:path}"))[0].match(path):
            found |= {method.upper() for method in methods}
    return ", ".join(sorted(found))
