"""Handles every request in the same steps: request wall, caller, body, handler; an error becomes a problem response.

It works in any FastAPI application that includes our router.
"""

import errno
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
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message

from gristmill.errors import Busy, Error, Unauthorized
from gristmill.serve.access_tokens import LOCAL
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.json_logs import begin_request, log, log_event
from gristmill.serve.http.limits.request_bodies import hold_body
from gristmill.serve.http.limits.strict_json import decode_body
from gristmill.serve.problem_codes import describe_problem, find_http_status

_LACKING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EAGAIN)
"""Errors of the system that say what is lacking now, and not that something is wrong with the program."""

PUBLIC: dict[str, Any] = {"security": []}
"""``openapi_extra`` of a route that needs no token."""
UPLOAD: dict[str, Any] = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}
}
"""``openapi_extra`` of a route that reads its body itself."""

PROBLEM_RESPONSE: dict[str, Any] = {
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemView"}}},
    "description": "A problem.",
}
"""How the OpenAPI document describes the answer to a request that failed."""

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_EXACT_STATUSES = {
    "serve.request_seconds": 408,
    "serve.connections": 503,
    "http.content_type": 415,
    "http.content_encoding": 415,
    "http.host": 421,
    "http.repeated_key": 422,
    "code.empty": 422,
    "approval.once": 409,
}
"""Rules and limits for which HTTP has a more exact status than the one of their error type."""
UNMATCHED_ROUTE = "(none)"
"""The name of the route, in logs and metrics, for requests that match no route."""
PROBE_PATHS = ("/health", "/ready", "/metrics")
"""Paths that monitoring asks every few seconds: logged only on errors, or at the level ``debug``."""
Handle = Callable[[Request], Coroutine[Any, Any, Response]]


def build_route_class(door: HttpDoor) -> type[APIRoute]:
    """Returns the class of the routes that belong to ``door``."""

    class DoorRoute(APIRoute):
        """A route of this door."""

        def get_route_handler(self) -> Handle:
            """Returns the handler with the steps that come before it."""
            # A frequently used route parses its request itself in `quick`; its signature is only for OpenAPI.
            inner: Handle = getattr(self.endpoint, "quick", None) or super().get_route_handler()
            is_public, reads = self.openapi_extra == PUBLIC, self.openapi_extra != UPLOAD
            needs_body = self.body_field is None or self.body_field.field_info.is_required()
            steps = _RequestSteps(door, inner, is_public=is_public, reads=reads, needs_body=needs_body)

            async def handle(request: Request) -> Response:
                return await steps(request, self.path)

            return handle

    return DoorRoute


class _RequestSteps:
    def __init__(self, door: HttpDoor, inner: Handle, *, is_public: bool, reads: bool, needs_body: bool) -> None:
        self._door, self._inner, self._is_public, self._reads, self._needs_body = door, inner, is_public, reads, needs_body

    async def __call__(self, request: Request, path: str) -> Response:
        began = time.perf_counter()
        request.state.id = begin_request(request.headers.get("x-request-id", ""))
        try:
            with self._door.runtime.traces.continue_trace(request.headers):
                response = await self._run_steps(request)
        except Exception as error:  # at the door every error becomes an answer
            request.state.problem = error.code if isinstance(error, Error) else type(error).__name__
            response = build_error_response(error)
        response.headers.update({**HEADERS, **dict(response.headers), "X-Request-ID": request.state.id})
        self._door.runtime.metrics.count_http_request(path, response.status_code)
        _log_request(request, path, response.status_code, began)
        return response

    async def _run_steps(self, request: Request) -> Response:
        door = self._door
        door.wall.check(request.headers, request.method)
        if not self._is_public:
            request.state.who = await door.admit(request)
        if not self._reads or request.method in ("GET", "HEAD", "OPTIONS"):
            return await self._inner(request)
        if self._needs_body or has_body(request.headers):
            door.wall.check_content_type(request.headers, request.method)
        tenant = request.state.who.tenant if not self._is_public else LOCAL
        async with hold_body(request, door.config, door.budget, tenant) as body:
            if body:
                request.state.body = await decode_body(body)
            return await self._inner(replay_body(request, body))


def has_body(headers: Headers) -> bool:
    """Returns whether a request announces a body. One without a body has nothing of which the kind could be wrong."""
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


def build_error_response(error: Exception) -> Response:
    """Returns an error as a problem response."""
    status, body = _find_status_and_problem(error)
    response = Response(msgspec.json.encode(body), status, media_type="application/problem+json")
    if isinstance(error, Busy):
        response.headers["Retry-After"] = str(math.ceil(max(1.0, error.retry_after)))
    if isinstance(error, Unauthorized):
        response.headers["WWW-Authenticate"] = 'Bearer realm="gristmill"'
    return response


def _find_status_and_problem(error: Exception) -> tuple[int, dict[str, Any]]:
    """Returns the HTTP status and the problem JSON of an error."""
    if isinstance(error, Error):
        which = str(getattr(error, "rule", None) or getattr(error, "limit", None))
        return _EXACT_STATUSES.get(which) or find_http_status(error), describe_problem(error)
    if isinstance(error, RequestValidationError | ValidationError):
        return 422, {"code": "request", "message": _describe_validation_errors(error)}
    if isinstance(error, msgspec.DecodeError | RecursionError | UnicodeDecodeError):
        return 422, {"code": "request", "message": "the body is not valid JSON"}
    if isinstance(error, HTTPException):
        return error.status_code, {"code": "request", "message": str(error.detail)}
    if isinstance(error, OSError) and error.errno in _LACKING:
        log_event("lacking", level=logging.ERROR, reason=error.strerror)
        return 503, {"code": "error", "message": f"the service lacks something now ({error.strerror}): try again later"}
    if isinstance(error, ClientDisconnect):
        return 499, {"code": "request", "message": "the client has disconnected"}
    log.error("failed", exc_info=error)
    return 500, {"code": "error", "message": "an internal error occurred; the log of the service says which"}


def replay_body(request: Request, body: bytes) -> Request:
    """Returns ``request`` with ``body``, which was read from it already, to be read again."""
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            return await request.receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


def _describe_validation_errors(error: RequestValidationError | ValidationError) -> str:
    """Describes what is wrong with a request, without repeating the values that were sent."""
    found = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()[:5]]
    return "; ".join(found)[:1_000]


def choose_log_level(status: int, path: str) -> int:
    """Returns the level at which an answer is logged."""
    if status >= 500 and not path.endswith("/ready"):  # routes_health.py logs it when the readiness changes
        return logging.ERROR
    return logging.DEBUG if path.endswith(PROBE_PATHS) else logging.INFO


def _log_request(request: Request, path: str, status: int, began: float) -> None:
    level = choose_log_level(status, path)
    if not log.isEnabledFor(level):
        return
    who = getattr(request.state, "who", None)
    log_event(
        "request", level=level, method=request.method, route=path, status=status,
        ms=round((time.perf_counter() - began) * 1000, 2), tenant=who.tenant if who else None,
        caller=who.identity.caller if who else None, execution=getattr(request.state, "execution", None),
        code=getattr(request.state, "problem", None),
    )  # fmt: skip
