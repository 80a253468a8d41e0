"""Refuses requests while too many connections are being answered; monitoring still gets an answer."""

from starlette.types import ASGIApp, Receive, Scope, Send

from gristmill.errors import Busy
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.limits.connection_crowd import ConnectionCrowd
from gristmill.serve.http.request_handling import PROBE_PATHS, UNMATCHED_ROUTE, build_error_response

TRY_LATER = 1013


class ConnectionLimit:
    """ASGI middleware that refuses requests while more connections of ``crowd`` are being answered than configured."""

    def __init__(self, app: ASGIApp, door: HttpDoor, crowd: ConnectionCrowd) -> None:
        self._app, self._door, self._crowd = app, door, crowd

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves the request, or answers that there are too many connections."""
        most = self._crowd.most
        if self._crowd.answering <= most or scope["type"] == "lifespan" or str(scope.get("path", "")).endswith(PROBE_PATHS):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": TRY_LATER})
        else:
            self._door.runtime.metrics.count_http_request(UNMATCHED_ROUTE, 503)
            busy = Busy(
                f"more than {most:,} connections are open: try again later",
                limit="serve.connections",
                value=most,
                retry_after=5.0,
            )
            response = build_error_response(busy)
            response.headers["Connection"] = "close"  # a kept connection would hold one of the reserved places
            await response(scope, receive, send)
