"""``/health``, ``/ready`` and ``/metrics``: for those who watch over the process."""

import logging
import time
from typing import Annotated, Any

from fastapi import APIRouter, Response

from gristmill.ledger.metrics import CONTENT_TYPE
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import HealthView
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.json_logs import say
from gristmill.serve.http.request_handling import PUBLIC
from gristmill.serve.http.require_scopes import OPERATOR

TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text format."}
}
KNOWN_SECONDS = 1.0
"""How long an answer about readiness holds: anybody may ask, and the store is not to be asked for each."""


class Readiness:
    """Whether executions can be taken, asked for once in a while however often it is wanted."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._known: tuple[float, str | None] = (0.0, None)

    async def view(self) -> HealthView:
        """How it stands; anybody may know, so that it names no more than what is missing."""
        isolation = self._door.runtime.isolation
        if self._door.draining:
            return HealthView(status="draining", isolation=isolation)
        problem = await self._problem()
        if problem is None:
            return HealthView(status="ok", isolation=isolation)
        return HealthView(status="unavailable", isolation=isolation, reason="sandbox" if "sandbox" in problem else "store")

    async def _problem(self) -> str | None:
        until, problem = self._known
        if time.monotonic() >= until:
            before, problem = problem, await self._door.runtime.problem()
            self._known = (time.monotonic() + KNOWN_SECONDS, problem)
            if problem != before:
                say("not ready" if problem else "ready", level=logging.ERROR if problem else logging.INFO, reason=problem)
        return problem


def add_health(routes: APIRouter, door: Door) -> None:
    """The routes that anybody may ask."""
    readiness = Readiness(door)

    @routes.head("/health", include_in_schema=False, openapi_extra=PUBLIC)
    @routes.get("/health", tags=["health"], openapi_extra=PUBLIC)
    async def health() -> HealthView:
        """The process answers."""
        return HealthView(status="draining" if door.draining else "ok")

    @routes.head("/ready", include_in_schema=False, openapi_extra=PUBLIC)
    @routes.get("/ready", tags=["health"], openapi_extra=PUBLIC, responses={503: {"model": HealthView}})
    async def ready(response: Response) -> HealthView:
        """Executions are taken; 503 while the service ends, or while the sandbox or the store cannot be used."""
        view = await readiness.view()
        response.status_code = 200 if view.status == "ok" else 503
        return view


def add_metrics(routes: APIRouter, door: Door) -> None:
    """The route of Prometheus."""

    @routes.get("/metrics", tags=["health"], response_class=Response, responses=TEXT)
    async def metrics(_who: Annotated[Principal, OPERATOR]) -> Response:
        """What is counted, of all tenants, for Prometheus."""
        return Response(door.runtime.metrics.render(), media_type=CONTENT_TYPE)
