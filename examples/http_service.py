"""An example as an HTTP service: every tool at ``POST /mcp/tools/NAME``, the same tools over MCP at ``/mcp``, and ``/health``."""

import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, get_type_hints

import anyio
import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, create_model
from starlette.middleware.trustedhost import TrustedHostMiddleware

from examples.serving import Listening, list_tools, server_of

THIS_MACHINE = ("127.0.0.1", "localhost")
GRACE_SECONDS = 5


def build_app(name: str, tools: object, names: tuple[str, ...] = (), routers: Sequence[APIRouter] = ()) -> FastAPI:
    """Builds the service, with more routes than its tools. Its ``/openapi.json`` marks the operations that only read."""
    server = server_of(name, tools)
    hosts = [*THIS_MACHINE, *names]
    security = TransportSecuritySettings(allowed_hosts=[*hosts, *(f"{host}:*" for host in hosts)])
    mcp = server.streamable_http_app(transport_security=security)

    @asynccontextmanager
    async def run_sessions(_app: FastAPI) -> AsyncGenerator[None]:
        async with server.session_manager.run():
            yield

    app = FastAPI(title=name, lifespan=run_sessions)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=hosts)
    for method, annotations in list_tools(tools):
        _add_route(app, method, annotations)
    for router in routers:
        app.include_router(router)

    @app.get("/health")
    def health() -> dict[str, str]:
        """Says that the service answers."""
        return {"status": "ok"}

    app.mount("/", mcp)
    return app


def serve_app(app: FastAPI, listening: Listening) -> None:
    """Speaks HTTP until the process is told to end."""
    uvicorn.run(
        app, host=listening.host, port=listening.port, log_level="warning", timeout_graceful_shutdown=GRACE_SECONDS
    )  # fmt: skip


def _add_route(app: FastAPI, method: Callable[..., Any], annotations: ToolAnnotations) -> None:
    body_model = _make_body(method)

    async def answer(body: BaseModel) -> Any:
        arguments = {field: getattr(body, field) for field in body_model.model_fields}
        try:
            if inspect.iscoroutinefunction(method):
                return await method(**arguments)
            return await anyio.to_thread.run_sync(lambda: method(**arguments))
        except ToolError as error:
            raise HTTPException(400, str(error)) from None

    answer.__name__ = method.__name__
    answer.__annotations__ = {"body": body_model}
    app.add_api_route(
        f"/mcp/tools/{method.__name__}",
        answer,
        methods=["POST"],
        response_model=get_type_hints(method)["return"],
        description=inspect.getdoc(method) or "",
        openapi_extra={"x-read-only": True} if annotations.read_only_hint else {},
    )


def _make_body(method: Callable[..., Any]) -> type[BaseModel]:
    hints = get_type_hints(method)
    fields: dict[str, Any] = {
        name: (hints[name], ... if parameter.default is parameter.empty else parameter.default)
        for name, parameter in inspect.signature(method).parameters.items()
    }
    return create_model(f"{method.__name__}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
