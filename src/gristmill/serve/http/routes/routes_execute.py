"""``POST /execute``."""

import asyncio
import re
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, HTTPException, Request, Response

from gristmill.errors import Refused
from gristmill.model import Outcome
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import Accepted, ExecuteRequest
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.start_execution import begin, outcome_of

_KEY = r"^[!-~]{1,200}$"


def add_execute(routes: APIRouter, door: Door) -> None:
    """The route that executes."""

    async def execute(
        asked: ExecuteRequest,
        idempotency_key: Annotated[str | None, Header(pattern=_KEY)] = None,
    ) -> Outcome:
        """Execute a program; whatever it does comes back as an outcome. With `Idempotency-Key`, the same request twice is one."""
        raise NotImplementedError

    async def quick(request: Request) -> Response:
        # Reading by hand spares a third of what the framework costs on the one route where it matters; see bench/http.py.
        who: Principal = request.state.who
        who.needs("execute")
        asked = ExecuteRequest.model_validate(getattr(request.state, "body", None))
        return await _execute(door, request, who, asked)

    setattr(execute, "quick", quick)  # noqa: B010 - functions have no such attribute for the type checker
    accepted = {202: {"model": Accepted, "description": "Accepted in the background."}}
    routes.post("/execute", responses={**accepted}, tags=["execute"])(execute)


async def _execute(door: Door, request: Request, who: Principal, asked: ExecuteRequest) -> Response:
    key = request.headers.get("idempotency-key")
    if key is not None and not re.fullmatch(_KEY, key):
        raise HTTPException(422, "Idempotency-Key: 1 to 200 printable characters without spaces")
    if not (asked.code or "").strip() and asked.resume is None:
        raise Refused("there is no code: send `code`, or `resume` with the id of an execution", rule="code.empty")
    run, found = await begin(door, who, asked, key=key)
    request.state.execution = run.id
    headers = {"Idempotency-Replayed": "true"} if found else {}
    if asked.background:
        await asyncio.shield(run.acknowledged)
        accepted = Accepted(id=run.id, session=run.session).model_dump_json()
        return Response(accepted, 202, {**headers, "Location": f"executions/{run.id}"}, media_type="application/json")
    return Response(msgspec.json.encode(await outcome_of(door, run)), headers=headers, media_type="application/json")
