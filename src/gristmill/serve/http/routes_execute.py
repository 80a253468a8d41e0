"""``POST /execute``."""

import asyncio
import re
from typing import Annotated

import msgspec
from fastapi import APIRouter, Header, Request, Response

from gristmill.errors import Busy, Refused
from gristmill.model import Outcome
from gristmill.serve.auth import Principal
from gristmill.serve.http.door import Door
from gristmill.serve.http.executing import begin, promise
from gristmill.serve.http.shapes import Accepted, ExecuteRequest
from gristmill.serve.http.who import EXECUTE

_KEY = r"^[!-~]{1,200}$"


def add_execute(routes: APIRouter, door: Door) -> None:
    """The route that executes."""

    @routes.post(
        "/execute",
        response_model=Outcome,
        responses={202: {"model": Accepted, "description": "Accepted in the background."}},
        tags=["execute"],
    )
    async def execute(
        request: Request,
        asked: ExecuteRequest,
        who: Annotated[Principal, EXECUTE],
        idempotency_key: Annotated[str | None, Header(pattern=_KEY)] = None,
    ) -> Response:
        """Execute a program; whatever it does comes back as an outcome. With `Idempotency-Key`, the same request twice is one."""
        if not (asked.code or "").strip() and asked.resume is None:
            raise Refused("there is no code: send `code`, or `resume` with the id of an execution", rule="code.empty")
        if door.draining:
            raise Busy("the service is ending: ask another, or again soon", limit="serve.drain_seconds", value=0, retry_after=5.0)
        run, found = await begin(door, who, asked, key=idempotency_key)
        request.state.execution = run.id
        headers = {"Idempotency-Replayed": "true"} if found else {}
        if asked.background:
            if not found:
                await promise(door, run, asked)
            accepted = Accepted(id=run.id, session=run.session).model_dump_json()
            return Response(accepted, 202, {**headers, "Location": f"executions/{run.id}"}, media_type="application/json")
        # Whoever leaves does not end the run: another may wait for the same key.
        outcome = await asyncio.shield(run.task)
        return Response(msgspec.json.encode(outcome), headers=headers, media_type="application/json")


def is_key(text: str) -> bool:
    """Whether ``text`` can be an ``Idempotency-Key``."""
    return re.fullmatch(_KEY, text) is not None
