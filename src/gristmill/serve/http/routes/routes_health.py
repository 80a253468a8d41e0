"""Routes of ``/health``, ``/ready`` and ``/metrics``, for monitoring."""

import asyncio
import logging
import time
from typing import Annotated, Any

from fastapi import APIRouter, Response

from gristmill.runtime.open.readiness import ReadinessProblem
from gristmill.runtime.recording.show_waiting_plans import render_metrics
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.json_logs import log_event
from gristmill.serve.http.request_handling import PUBLIC
from gristmill.serve.http.require_scopes import OPERATOR
from gristmill.serve.http.shapes.api_shapes import HealthView

METRICS_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text format."}
}
KNOWN_SECONDS = 1.0
"""How long an answer about readiness is reused: anyone may ask, and not every request may cause a query of the store."""


class Readiness:
    """Whether the service can execute; checked at most once per ``KNOWN_SECONDS``, however often it is asked."""

    def __init__(self, door: HttpDoor) -> None:
        self._door = door
        self._known: tuple[float, ReadinessProblem | None] = (0.0, None)
        self._asking = asyncio.Lock()  # one check at a time, however many ask

    async def describe(self) -> HealthView:
        """Returns the readiness. Anyone may read it, so it says only which part cannot be used."""
        isolation = self._door.runtime.isolation
        if self._door.draining:
            return HealthView(status="draining", isolation=isolation)
        problem = await self._find_problem()
        if problem is None:
            return HealthView(status="ok", isolation=isolation)
        return HealthView(status="unavailable", isolation=isolation, reason=problem.part)

    async def _find_problem(self) -> ReadinessProblem | None:
        async with self._asking:
            until, problem = self._known
            if time.monotonic() >= until:
                before, problem = problem, await self._door.runtime.find_readiness_problem()
                self._known = (time.monotonic() + KNOWN_SECONDS, problem)
                if (before and before.part) != (problem and problem.part):
                    level, reason = (logging.ERROR, problem.message) if problem else (logging.INFO, None)
                    log_event("not ready" if problem else "ready", level=level, reason=reason)
        return problem


def add_health(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes that need no token."""
    readiness = Readiness(door)

    @routes.head("/health", include_in_schema=False, openapi_extra=PUBLIC)
    @routes.get("/health", tags=["health"], openapi_extra=PUBLIC)
    async def health() -> HealthView:
        """Answers as long as the process runs."""
        return HealthView(status="draining" if door.draining else "ok")

    @routes.head("/ready", include_in_schema=False, openapi_extra=PUBLIC)
    @routes.get("/ready", tags=["health"], openapi_extra=PUBLIC, responses={503: {"model": HealthView}})
    async def ready(response: Response) -> HealthView:
        """Answers 200 if the service can execute, and 503 while it is ending, or while the sandbox, the store, the disk or
        descriptors are lacking."""
        view = await readiness.describe()
        response.status_code = 200 if view.status == "ok" else 503
        return view


def add_metrics(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the route for Prometheus."""

    @routes.get("/metrics", tags=["health"], response_class=Response, responses=METRICS_RESPONSE)
    async def metrics(_who: Annotated[Principal, OPERATOR]) -> Response:
        """Returns the metrics of all tenants for Prometheus."""
        return Response(
            await render_metrics(door.runtime.metrics, door.runtime.approvals), media_type=door.runtime.metrics.content_type
        )
