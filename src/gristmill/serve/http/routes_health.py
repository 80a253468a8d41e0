"""``/health``, ``/ready`` and ``/metrics``: for those who watch over the process."""

from typing import Annotated, Any

from fastapi import APIRouter, Response

from gristmill.ledger.metrics import CONTENT_TYPE
from gristmill.serve.auth import Principal
from gristmill.serve.http.door import Door
from gristmill.serve.http.route import PUBLIC
from gristmill.serve.http.shapes import HealthView
from gristmill.serve.http.who import OPERATOR

TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus text format."}
}


def add_health(routes: APIRouter, door: Door) -> None:
    """The routes that anybody may ask."""

    @routes.get("/health", tags=["health"], openapi_extra=PUBLIC)
    async def health() -> HealthView:
        """The process answers."""
        return HealthView(status="draining" if door.draining else "ok")

    @routes.get("/ready", tags=["health"], openapi_extra=PUBLIC, responses={503: {"model": HealthView}})
    async def ready(response: Response) -> HealthView:
        """The sandbox is in force and executions are taken; 503 while the service ends."""
        response.status_code = 503 if door.draining else 200
        return HealthView(status="draining" if door.draining else "ok", isolation=door.runtime.isolation)


def add_metrics(routes: APIRouter, door: Door) -> None:
    """The route of Prometheus."""

    @routes.get("/metrics", tags=["health"], response_class=Response, responses=TEXT)
    async def metrics(_who: Annotated[Principal, OPERATOR]) -> Response:
        """What is counted, of all tenants, for Prometheus."""
        return Response(door.runtime.metrics.render(), media_type=CONTENT_TYPE)
