"""Translates a request to execute into a run: its session by name, its fingerprint, and the memory that it holds."""

import hashlib
from contextlib import nullcontext

import msgspec

from gristmill.runs.active_run import ActiveRun
from gristmill.runs.start_run import RunRequest
from gristmill.runs.start_run import begin_execution as begin_run
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.limits.request_bodies import estimate_value_bytes
from gristmill.serve.http.session_ids import find_session_by_id
from gristmill.serve.http.shapes.api_shapes import ExecuteRequest


async def begin_execution(
    door: HttpDoor, who: Principal, asked: ExecuteRequest, *, key: str | None = None, via: str | None = None
) -> tuple[ActiveRun, bool]:
    """Begins an execution, or finds the run of the same ``key``; returns the run and whether it was found.

    ``via`` names the way of arrival if it was not an HTTP request.

    Raises:
        Busy: too many executions of this tenant are waiting, or the service is ending.
        Conflict: the key belongs to another request, or the execution to be resumed is still running.
        StoreUnavailable: the execution of this key has ended, and its record still cannot be stored.
    """
    if asked.session is not None and (known := await find_session_by_id(door, asked.session, identity=who.identity)) is not None:
        asked = asked.model_copy(update={"session": known.name})
    # The body of a request counts as held while the request lasts; a run without a request, or that outlives it, is held itself.
    is_held = asked.background or via is not None
    request = RunRequest(
        identity=who.identity, code=asked.code, session=asked.session, limits=asked.asked_limits(), context=asked.context,
        resume=asked.resume, budget=asked.asked_budget(), strategy=asked.strategy, background=asked.background, key=key, via=via,
        conversation=asked.conversation,
        title=asked.title or None,
        language=asked.language,
        fingerprint=None if key is None else hashlib.sha256(asked.model_dump_json().encode()).hexdigest(),
        hold=door.budget.hold_bytes(_estimate_size(asked), who.tenant) if is_held else nullcontext(),
    )  # fmt: skip
    return await begin_run(door.served, request)


def _estimate_size(asked: ExecuteRequest) -> int:
    context = msgspec.json.encode(asked.context) if asked.context else b""
    return len(asked.code or "") + len(context) + estimate_value_bytes(context)
