"""One request to execute becomes a run: admitted, promised where it must be, in turn, heard, counted; the same key is one run."""

import asyncio
import hashlib
import time
import uuid
from functools import partial

import msgspec

from gristmill.errors import Cancelled, Conflict
from gristmill.ledger.audit.audit_entries import ACCEPTED, INSTANCE, AuditEntry, AuditFilter, AuditRecord
from gristmill.model import Execution, Outcome
from gristmill.runs.fair_lanes import Ticket
from gristmill.runtime.recording.recorder import BEGUN
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import ExecuteRequest
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.json_logs import say
from gristmill.serve.http.limits.request_bodies import values_bytes
from gristmill.serve.http.runs import Run
from gristmill.serve.http.session_ids import session_of_id

NOT_RUN = ("sandbox.unavailable", "store")
"""Codes of records that say that nothing was run: the same key may try again."""


async def begin(
    door: Door, who: Principal, asked: ExecuteRequest, *, key: str | None = None, via: str | None = None
) -> tuple[Run, bool]:
    """Begin what is asked, or find the run of the same ``key``; whether it was found. ``via`` says how it came, if by no request.

    What is done in the background, or has a key, is on record before it begins: its run is ``acknowledged`` then, or that
    fails with whatever it was that kept it from being done.

    Raises:
        Busy: too many of this tenant are waiting, or the service is ending.
        Conflict: the key belongs to another request, or what is to be resumed is still under way.
    """
    if asked.resume is not None:
        await _not_under_way(door, who, asked.resume)
    if asked.session is not None and (known := await session_of_id(door, asked.session, who.tenant, who.caller)) is not None:
        asked = asked.model_copy(update={"session": known.name})
    # From here on nothing waits: of two requests with the same key the second finds the first, and what is begun is drained.
    door.refuse_if_draining()
    fingerprint = hashlib.sha256(asked.model_dump_json().encode()).hexdigest() if key is not None else None
    id_ = uuid.uuid4().hex if key is None else hashlib.sha256("\0".join((who.tenant, who.caller, key)).encode()).hexdigest()[:32]
    if key is not None and (found := door.runs.peek(id_)) is not None:
        if found.fingerprint != fingerprint:
            raise Conflict("this Idempotency-Key was used for another request: take a new one")
        return found, True
    run = Run(
        id=id_, tenant=who.tenant, caller=who.caller, session=asked.session, began=time.time(), background=asked.background,
        fingerprint=fingerprint, code=asked.code,
    )  # fmt: skip
    door.runs.admit(run)
    try:
        ticket = door.lanes.enter(who.tenant)
    except BaseException:
        door.runs.drop(run)
        raise
    run.acknowledged = asyncio.get_running_loop().create_future()
    run.acknowledged.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may have waited for it
    # The body of a request is held as long as that lasts; this run has none, or outlives it.
    held = _size(asked) if run.background or via is not None else 0
    run.task = asyncio.create_task(_whole(door, run, asked, ticket, held))
    run.task.add_done_callback(lambda _: door.lanes.leave(ticket))  # it may have ended before its turn
    run.task.add_done_callback(lambda _: _over(door, run, via))
    return run, False


async def outcome_of(door: Door, run: Run) -> Outcome:
    """The outcome of a run, when it is there. Whoever leaves does not end the run: another may wait for the same key.

    Raises:
        Cancelled: it was ended from outside.
    """
    work = run.task  # which is gone from the run once it has failed
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not work.cancelled() or (task is not None and task.cancelling()):
            raise  # it is we who are to stop
        raise _cancelled(door, run) from None
    finally:
        del work  # an error holds this frame: if that held the error, both would stay until somebody looks for such circles


def _cancelled(door: Door, run: Run) -> Cancelled:
    why = "the service is ending" if door.draining else "it was cancelled"
    return Cancelled(f"execution {run.id} was broken off: {why}; its record says how far it came")


def _size(asked: ExecuteRequest) -> int:
    context = msgspec.json.encode(asked.context) if asked.context else b""
    return len(asked.code or "") + len(context) + values_bytes(context)


async def _whole(door: Door, run: Run, asked: ExecuteRequest, ticket: Ticket, held: int) -> Outcome:
    with door.budget.holding(held, run.tenant):
        if run.background:
            await _acknowledge(door, run, asked)
        async with door.lanes.turn(ticket, for_ever=run.background):
            run.is_begun = True
            if not run.background:
                await _acknowledge(door, run, asked)  # not before: who is turned away may come again with the same key
            return await door.runtime.execute(
                asked.code, session=asked.session, limits=asked.asked_limits(), context=asked.context, resume=asked.resume,
                budget=asked.asked_budget(), strategy=asked.strategy, caller=run.caller, tenant=run.tenant, emit=run.hear,
                execution_id=run.id, promised=_is_promised(run),
            )  # fmt: skip


def _is_promised(run: Run) -> bool:
    return run.background or run.fingerprint is not None


async def _acknowledge(door: Door, run: Run, asked: ExecuteRequest) -> None:
    """See that it was not done before, and put it on record, where that was asked for."""
    if _is_promised(run):
        await door.runtime.take_in(
            Execution(
                id=run.id, code=asked.code or "", session=asked.session, context=asked.context, resume=asked.resume,
                caller=run.caller, tenant=run.tenant,
            ),
            None if run.fingerprint is None else partial(_never_twice, door, run),
        )  # fmt: skip
    run.acknowledged.set_result(None)


async def _never_twice(door: Door, run: Run) -> None:
    """Refuse what was begun under this key before a restart, or so long ago that its outcome is gone."""
    ended, accepted = await _last_record(door, run, run.id), await _last_record(door, run, f"{run.id}/{ACCEPTED}")
    if accepted is not None and (ended is None or ended.seq < accepted.seq):
        await door.runtime.audit.flush()  # how it ended may be on its way to the record
        ended = await _last_record(door, run, run.id)
        if ended is None or ended.seq < accepted.seq:
            raise Conflict(f"this was begun already, as {run.id}, and broken off; `resume` with that id takes it up")
    if ended is not None and not _was_not_run(ended.record):
        raise Conflict(f"this was executed already, as {run.id}, and is not executed again; see GET /executions/{run.id}")


def _was_not_run(record: AuditRecord) -> bool:
    return (record.status or "").startswith(NOT_RUN) and not record.details.get(BEGUN)


async def _not_under_way(door: Door, who: Principal, id_: str) -> None:
    """Refuse to resume what still runs, here or in another process: it would be done twice at the same time."""
    run = door.runs.peek(id_)
    if run is None or (run.tenant, run.caller) != (who.tenant, who.caller):
        mine = AuditFilter(kind="execution", id=f"{id_}/{ACCEPTED}", tenant=who.tenant, caller=who.caller, promises="open")
        promise = next(iter(await door.runtime.audit.list(mine, limit=1)), None)
        is_running = promise is not None and await door.runtime.lives_elsewhere(instance_of(promise))
    else:
        is_running = run.ended is None
    if is_running:
        raise Conflict(f"execution {id_} is still under way: wait for it, or cancel it first")


def instance_of(promise: AuditEntry) -> str | None:
    """The process that made a promise."""
    found = promise.record.details.get(INSTANCE)
    return found if isinstance(found, str) else None


def _record_cancelled(door: Door, run: Run) -> None:
    """It was accepted, and cancelled before its turn came: nothing else would say so."""
    if run.acknowledged.done() and not run.acknowledged.cancelled() and run.acknowledged.exception() is None:
        door.runtime.audit.record(
            AuditRecord(
                kind="execution", id=run.id, time=run.began, tenant=run.tenant, session=run.session, caller=run.caller,
                status=Cancelled.code,
            )
        )  # fmt: skip


async def _last_record(door: Door, run: Run, id_: str) -> AuditEntry | None:
    wanted = AuditFilter(kind="execution", id=id_, tenant=run.tenant, caller=run.caller)
    return next(iter(await door.runtime.audit.list(wanted, limit=1)), None)


def _tell_waiting(door: Door, run: Run) -> None:
    """It ended before it could be acknowledged: whoever waits for that must hear so, whatever it was."""
    if not run.acknowledged.done():
        error = None if run.task.cancelled() else run.task.exception()
        run.acknowledged.set_exception(error or _cancelled(door, run))


def _over(door: Door, run: Run, via: str | None) -> None:
    _tell_waiting(door, run)
    if run.background and run.task.cancelled() and not (run.is_begun or door.draining):
        _record_cancelled(door, run)
    door.runs.ended(run)
    if run.outcome is not None:
        door.count(run.tenant, run.outcome)
    else:
        del run.acknowledged  # it may hold the error, too
    if run.outcome is None and run.fingerprint is not None:
        door.runs.drop(run)  # the same key may try again
    if run.background or run.outcome is None or via is not None:  # else the line of the request says it
        say("execution", execution=run.id, tenant=run.tenant, caller=run.caller, status=run.status, via=via)
