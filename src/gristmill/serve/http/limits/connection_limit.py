"""Too many connections: who comes then is told so, but whoever asks how the service is still gets an answer."""

from collections.abc import Sized

from starlette.types import ASGIApp, Receive, Scope, Send

from gristmill.errors import Busy
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.request_handling import PROBED, UNMATCHED, answer

RESERVE = 64
"""Connections beyond the configured ones, for those who look after the service."""
TRY_LATER = 1013


class Crowd:
    """Refuses requests while there are more ``connections`` than configured."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door
        self.connections: Sized = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request, or say that there are too many."""
        most = self._door.config.connections
        if len(self.connections) <= most or scope["type"] == "lifespan" or str(scope.get("path", "")).endswith(PROBED):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": TRY_LATER})
        else:
            self._door.runtime.metrics.answered(UNMATCHED, 503)
            busy = Busy(f"more than {most:,} connections are open", limit="serve.connections", value=most, retry_after=5.0)
            await answer(busy)(scope, receive, send)
