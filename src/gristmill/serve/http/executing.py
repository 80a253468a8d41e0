"""One request to execute becomes a run: admitted, in turn, heard, counted; the same key twice is the same run once."""

import asyncio
import hashlib
import time
import uuid

from gristmill.errors import Conflict, NotFound
from gristmill.ledger.entries import ACCEPTED
from gristmill.model import Outcome
from gristmill.serve.auth import Principal
from gristmill.serve.http.door import Door
from gristmill.serve.http.lanes import Ticket
from gristmill.serve.http.logs import say
from gristmill.serve.http.runs import Run
from gristmill.serve.http.shapes import ExecuteRequest

NOT_RUN = ("sandbox", "store")
"""Codes of records that say that nothing was run: the same key may try again."""


async def begin(door: Door, who: Principal, asked: ExecuteRequest, *, key: str | None = None) -> tuple[Run, bool]:
    """Begin what is asked, or find the run of the same ``key``; whether it was found.

    Raises:
        Busy: too many of this tenant are waiting.
        Conflict: the key belongs to another request, or to one whose outcome is no longer kept.
        StoreUnavailable: a background execution cannot be put on record, so it is not promised.
    """
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
    run.task = asyncio.create_task(_whole(door, run, asked, ticket, is_keyed=key is not None))
    run.task.add_done_callback(lambda _: door.lanes.leave(ticket))  # it may have ended before its turn
    run.task.add_done_callback(lambda _: _over(door, run))
    return run, False


async def _whole(door: Door, run: Run, asked: ExecuteRequest, ticket: Ticket, *, is_keyed: bool) -> Outcome:
    size = len(asked.code or "") if run.background else 0
    door.budget.take(size)
    try:
        async with door.lanes.turn(ticket):
            if is_keyed:
                await _never_twice(door, run)
            return await door.runtime.execute(
                asked.code, session=asked.session, limits=asked.asked_limits(), context=asked.context, resume=asked.resume,
                budget=asked.asked_budget(), strategy=asked.strategy, caller=run.caller, tenant=run.tenant, emit=run.hear,
                execution_id=run.id,
            )  # fmt: skip
    finally:
        door.budget.give(size)


async def promise(door: Door, run: Run, asked: ExecuteRequest) -> None:
    """Put a background execution on record before it is acknowledged; one that cannot be is not begun.

    Raises:
        StoreUnavailable: it cannot be kept.
    """
    try:
        await door.runtime.take_in(
            asked.code or "", execution_id=run.id, session=asked.session, caller=run.caller, tenant=run.tenant
        )  # fmt: skip
    except BaseException:
        run.task.cancel()
        raise


async def _never_twice(door: Door, run: Run) -> None:
    """Refuse what was executed under this key before a restart, or so long ago that its outcome is gone."""
    for id_ in (run.id, f"{run.id}/{ACCEPTED}"):
        try:
            tree = await door.runtime.audit.show(id_, tenant=run.tenant)
        except NotFound:
            continue
        if tree.entry.record.caller == run.caller and not (tree.entry.record.status or "").startswith(NOT_RUN):
            if run.background and id_ != run.id and tree.entry.record.time >= run.began:
                continue  # its own promise
            raise Conflict(
                f"this was executed already, as {run.id}, and its outcome is no longer kept; see GET /executions/{run.id}"
            )


def _over(door: Door, run: Run) -> None:
    door.runs.ended(run)
    if run.outcome is not None:
        door.count(run.tenant, run.outcome)
    elif run.fingerprint is not None:
        door.runs.drop(run)  # the same key may try again
    if run.background or run.outcome is None:
        say("execution", execution=run.id, tenant=run.tenant, caller=run.caller, status=run.status)
