"""The way of every request: wall, who, body, handler, and whatever goes wrong as a problem. Works in any application."""

import logging
import math
import time
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message

from gristmill.errors import Busy, Error, Unauthorized
from gristmill.serve.access_tokens import LOCAL
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.json_logs import begin_request, log, say
from gristmill.serve.http.limits.request_bodies import held_body
from gristmill.serve.problem_codes import http_status, problem

PUBLIC: dict[str, Any] = {"security": []}
"""``openapi_extra`` of a route that anybody may ask."""
UPLOAD: dict[str, Any] = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}
"""``openapi_extra`` of a route that reads its body itself."""

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_EXACT = {
    "serve.request_seconds": 408,
    "serve.connections": 503,
    "http.content_type": 415,
    "http.content_encoding": 415,
    "http.host": 421,
    "code.empty": 422,
    "approval.once": 409,
}
"""Where HTTP has a word of its own for what our table calls a refusal or a limit."""
UNMATCHED = "(none)"
"""The route, in logs and counts, of requests for which there is none."""
PROBED = ("/health", "/ready", "/metrics")
"""What machines ask every few seconds: logged only when something is wrong with it, or everything is logged."""
Handle = Callable[[Request], Coroutine[Any, Any, Response]]


def route_class(door: Door) -> type[APIRoute]:
    """Routes that belong to ``door``."""

    class DoorRoute(APIRoute):
        """One of its routes."""

        def get_route_handler(self) -> Handle:
            """The handler, behind everything that comes first."""
            # What is hot reads its request itself; its signature is for validation by others and for OpenAPI.
            inner: Handle = getattr(self.endpoint, "quick", None) or super().get_route_handler()
            is_public, reads = self.openapi_extra == PUBLIC, self.openapi_extra != UPLOAD
            way = _Way(door, inner, is_public=is_public, reads=reads)

            async def handle(request: Request) -> Response:
                return await way(request, self.path)

            return handle

    return DoorRoute


class _Way:
    def __init__(self, door: Door, inner: Handle, *, is_public: bool, reads: bool) -> None:
        self._door, self._inner, self._is_public, self._reads = door, inner, is_public, reads

    async def __call__(self, request: Request, path: str) -> Response:
        began = time.perf_counter()
        request.state.id = begin_request(request.headers.get("x-request-id", ""))
        try:
            with self._door.runtime.traces.arrived(request.headers):
                response = await self._pass(request)
        except Exception as error:  # the door is where every error becomes an answer
            request.state.problem = error.code if isinstance(error, Error) else type(error).__name__
            response = answer(error)
        response.headers.update({**HEADERS, **dict(response.headers), "X-Request-ID": request.state.id})
        self._door.runtime.metrics.answered(path, response.status_code)
        _log(request, path, response.status_code, began)
        return response

    async def _pass(self, request: Request) -> Response:
        door = self._door
        door.wall.check(request.headers, request.method)
        if not self._is_public:
            request.state.who = await door.admit(request)
        if not self._reads or request.method in ("GET", "HEAD", "OPTIONS"):
            return await self._inner(request)
        door.wall.check_type(request.headers, request.method)
        tenant = request.state.who.tenant if not self._is_public else LOCAL
        async with held_body(request, door.config, door.budget, tenant) as body:
            if body:
                # Strict: no NaN, no lone surrogates, no bottomless nesting.
                request.state.body = msgspec.json.decode(body)
            return await self._inner(replayed(request, body))


def answer(error: Exception) -> Response:
    """An error as a response."""
    status, told = _told(error)
    response = Response(msgspec.json.encode(told), status, media_type="application/problem+json")
    if isinstance(error, Busy):
        response.headers["Retry-After"] = str(math.ceil(max(1.0, error.retry_after)))
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = 'Bearer realm="gristmill"'
    return response


def _told(error: Exception) -> tuple[int, dict[str, Any]]:
    """Status and problem of an error."""
    if isinstance(error, Error):
        which = str(getattr(error, "rule", None) or getattr(error, "limit", None))
        return _EXACT.get(which) or http_status(error), problem(error)
    if isinstance(error, RequestValidationError | ValidationError):
        return 422, {"code": "request", "message": _wrong(error)}
    if isinstance(error, msgspec.DecodeError | RecursionError | UnicodeDecodeError):
        return 422, {"code": "request", "message": "the body is not valid JSON"}
    if isinstance(error, HTTPException):
        return error.status_code, {"code": "request", "message": str(error.detail)}
    if isinstance(error, ClientDisconnect):
        return 499, {"code": "request", "message": "the client has left"}
    log.error("failed", exc_info=error)
    return 500, {"code": "error", "message": "something is wrong on our side; the log says what"}


def replayed(request: Request, body: bytes) -> Request:
    """``request`` with the body that was read from it."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return await request.receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


def _wrong(error: RequestValidationError | ValidationError) -> str:
    """What is wrong, without repeating what was sent."""
    found = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()[:5]]
    return "; ".join(found)[:1_000]


def level_of(status: int, path: str) -> int:
    """How loudly an answer is logged."""
    if status >= 500 and not path.endswith("/ready"):  # that it is not ready is said where that is found out
        return logging.ERROR
    return logging.DEBUG if path.endswith(PROBED) else logging.INFO


def _log(request: Request, path: str, status: int, began: float) -> None:
    level = level_of(status, path)
    if not log.isEnabledFor(level):
        return
    who = getattr(request.state, "who", None)
    say(
        "request", level=level, method=request.method, route=path, status=status,
        ms=round((time.perf_counter() - began) * 1000, 2), tenant=who.tenant if who else None,
        caller=who.caller if who else None, execution=getattr(request.state, "execution", None),
        code=getattr(request.state, "problem", None),
    )  # fmt: skip
