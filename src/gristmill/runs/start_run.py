"""Starts runs: they are admitted, recorded where that was promised, wait their turn, and are counted. Requests with the same
idempotency key share one run."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.errors import Cancelled, Conflict, OutcomeNotStored
from gristmill.model import Budget, Execution, Identity, Json, Language, Outcome, Strategy
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.idempotency import (
    REQUEST,
    AlreadyExecuted,
    KeyedRequest,
    build_reuse_error,
    check_first_use,
    make_execution_id,
    read_instance,
)
from gristmill.runs.served_runs import ServedRuns
from gristmill.runtime.values.audit_values import ACCEPTED, AuditFilter, AuditRecord

if TYPE_CHECKING:  # doors that answer while the runtime is still being imported must not wait for it
    from gristmill.runtime.execution.accepted_executions import Check

Work = Callable[[], Awaitable[Outcome]]
"""Does the work of a run, when its turn has come."""


class RunRequest(Struct, frozen=True, kw_only=True):
    """What a client asks to execute. ``fingerprint`` is the digest of all that it asks for; a request with a ``key`` has one."""

    identity: Identity
    code: str | None = None
    session: str | None = None
    limits: Mapping[str, Any] | None = None
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    resume: str | None = None
    budget: Budget | None = None
    strategy: Strategy | None = None
    language: Language | None = None
    background: bool = False
    key: str | None = None
    fingerprint: str | None = None
    via: str | None = None
    conversation: str | None = None
    title: str | None = None
    parent: str | None = None
    """The execution from which it was asked for."""
    hold: AbstractContextManager[object] = field(default_factory=nullcontext)
    """Counts the memory that the request takes while the run lasts."""


async def begin_execution(runs: ServedRuns, request: RunRequest) -> tuple[ActiveRun, bool]:
    """Begins an execution, or finds the run of the same key; returns the run and whether it was found.

    An execution in the background, or with a key, is recorded before it begins: then its run is ``acknowledged``, or that future
    fails with the error that prevented it.

    Raises:
        Busy: too many executions of this tenant are waiting, or the service is ending.
        Conflict: the key belongs to another request, or the execution to be resumed is still running.
        StoreUnavailable: the execution of this key has ended, and its record still cannot be stored.
    """
    if request.resume is not None:
        request = replace(request, resume=await runs.runtime.find_execution_id(request.resume, identity=request.identity))
        await refuse_if_running(runs, request.resume or "", request.identity)
    # No await from here on: so of two requests with the same key the second finds the first, and a drain misses no run.
    runs.refuse_if_draining()
    run = ActiveRun(
        identity=request.identity, session=request.session, background=request.background, may_outlive=request.background,
        fingerprint=request.fingerprint, code=request.code, via=request.via, conversation=request.conversation,
        title=request.title,
    )  # fmt: skip
    if request.key is not None:
        run.id = make_execution_id(request.key, request.identity)
        if (found := runs.registry.peek(run.id)) is not None:
            if (found.fingerprint, found.identity) != (run.fingerprint, run.identity):
                raise build_reuse_error()
            await store_outcome_again(runs, found)
            return found, True
    promise = Execution(
        id=run.id, code=request.code or "", session=request.session, context=request.context, resume=request.resume,
        identity=run.identity, language=request.language,
    )  # fmt: skip
    work = partial(_execute_request, runs, run, request)
    start_run(runs, run, work, promise=promise if run.is_promised else None, hold=request.hold)
    return run, False


async def _execute_request(runs: ServedRuns, run: ActiveRun, request: RunRequest) -> Outcome:
    return await runs.runtime.execute(
        request.code, session=request.session, limits=request.limits, context=request.context, resume=request.resume,
        budget=request.budget, strategy=request.strategy, identity=run.identity, emit=run.record_event, execution_id=run.id,
        promised=run.is_promised, conversation=request.conversation, language=request.language,
        arm=run.arm, parent=request.parent, title=request.title,
    )  # fmt: skip


def start_run(
    runs: ServedRuns,
    run: ActiveRun,
    work: Work,
    *,
    promise: Execution | None = None,
    hold: AbstractContextManager[object] | None = None,
) -> None:
    """Starts a run: it is admitted, waits its turn, and does ``work``; a ``promise`` is recorded before that.

    Raises:
        Busy: too many executions of this tenant are waiting or in the background, or the service is ending.
    """
    runs.refuse_if_draining()
    runs.registry.admit(run)
    try:
        run.ticket = runs.lanes.enter(run.identity.tenant)
    except BaseException:
        runs.registry.drop(run)
        raise
    run.acknowledged = asyncio.get_running_loop().create_future()
    # Reads the error: perhaps no request waits for it.
    run.acknowledged.add_done_callback(lambda done: done.cancelled() or done.exception())
    # A task of its own: so cancelling a request and cancelling by id end the same work.
    run.task = asyncio.create_task(_work_in_turn(runs, run, work, promise, hold or nullcontext()))
    run.task.add_done_callback(lambda _: _finish_run(runs, run))


async def wait_for_outcome(runs: ServedRuns, run: ActiveRun) -> Outcome:
    """Waits for the outcome of a run.

    A client that disconnects does not end the run: another request with the same key may wait for it.

    Raises:
        Cancelled: the run was cancelled.
    """
    if run.outcome is not None:
        return run.outcome
    work = run.task  # an ended run no longer has the attribute
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not work.cancelled() or (task is not None and task.cancelling()):
            raise  # this request was cancelled, not the run
        raise _build_cancelled_error(runs, run) from None
    finally:
        del work  # the error holds this frame: a reference back would be a cycle that stays until garbage collection


async def store_outcome_again(runs: ServedRuns, run: ActiveRun) -> None:
    """Stores the outcome of a run that ended while the store could not be written; afterwards the run has it.

    Raises:
        StoreUnavailable: the store still cannot be written.
    """
    if run.unstored is not None:
        await runs.runtime.store_outcome(run.unstored, identity=run.identity, promised=run.is_promised)
        run.outcome = run.outcome or run.unstored
        run.problem = run.unstored = None


async def refuse_if_running(runs: ServedRuns, id_: str, identity: Identity) -> None:
    """Refuses to resume an execution that still runs, here or in another process: it would run twice at the same time.

    Raises:
        Conflict: it runs.
    """
    run = runs.registry.peek(id_)
    if run is None or run.identity != identity:
        mine = AuditFilter(kind="execution", id=f"{id_}/{ACCEPTED}", owner=identity, promises="open")
        promise = next(iter(await runs.runtime.audit.list(mine, limit=1)), None)
        is_running = promise is not None and await runs.runtime.lives_elsewhere(read_instance(promise))
    else:
        is_running = run.ended is None
    if is_running:
        raise Conflict(f"execution {id_} is still running: wait for it, or cancel it first")


async def _work_in_turn(
    runs: ServedRuns, run: ActiveRun, work: Work, promise: Execution | None, hold: AbstractContextManager[object]
) -> Outcome:
    try:
        with hold:
            if run.background:
                await _acknowledge(runs, run, promise)
            async with runs.lanes.hold_place(run.ticket, is_promised=run.background):
                run.is_begun = True
                if not run.background:
                    # Not earlier: a request that finds no place may be sent again with the same key.
                    await _acknowledge(runs, run, promise)
                run.arm = await runs.arms.choose_arm(run)
                return await work()
    except AlreadyExecuted as found:
        run.is_replayed = True
        if not run.acknowledged.done():
            run.acknowledged.set_result(None)
        return found.outcome
    except OutcomeNotStored as error:
        run.unstored = error.outcome
        raise


async def _acknowledge(runs: ServedRuns, run: ActiveRun, promise: Execution | None) -> None:
    """Records a promised execution, after a check that it was not executed before, and completes ``acknowledged``."""
    if promise is not None:
        await runs.runtime.accept_execution(promise, *_build_key_check(runs, run))
    run.acknowledged.set_result(None)


def _build_key_check(runs: ServedRuns, run: ActiveRun) -> "tuple[Check | None, dict[str, str]]":
    """Returns the check that nothing was executed for the key, and what later checks must know; nothing without a key."""
    if run.fingerprint is None:
        return None, {}
    request = KeyedRequest(id=run.id, identity=run.identity, fingerprint=run.fingerprint)
    return partial(check_first_use, runs.runtime, request), {REQUEST: run.fingerprint}


def _build_cancelled_error(runs: ServedRuns, run: ActiveRun) -> Cancelled:
    why = "the service is ending" if runs.draining else "it was cancelled"
    return Cancelled(f"execution {run.id} was interrupted: {why}; its record says how far it got")


def _finish_run(runs: ServedRuns, run: ActiveRun) -> None:
    runs.lanes.leave(run.ticket)  # the run may have ended before its turn
    _fail_acknowledgement(runs, run)
    if run.background and run.task.cancelled() and not (run.is_begun or runs.draining):
        _record_cancelled(runs, run)
    runs.registry.mark_ended(run)
    runs.arms.note_end(run)
    if run.outcome is not None and not run.is_replayed:
        runs.count_outcome(run.identity.tenant, run.outcome)
    if run.outcome is None and run.unstored is None:
        del run.acknowledged  # it may hold the error, too
        if run.fingerprint is not None:
            runs.registry.drop(run)  # so that the same key can be used again
    runs.on_end(run)


def _fail_acknowledgement(runs: ServedRuns, run: ActiveRun) -> None:
    """Fails ``acknowledged`` if the run ended before it was acknowledged: requests that wait for it must get an answer."""
    if not run.acknowledged.done():
        error = None if run.task.cancelled() else run.task.exception()
        run.acknowledged.set_exception(error or _build_cancelled_error(runs, run))


def _record_cancelled(runs: ServedRuns, run: ActiveRun) -> None:
    """Records that an accepted execution was cancelled before its turn: nothing else records it."""
    if run.acknowledged.done() and not run.acknowledged.cancelled() and run.acknowledged.exception() is None:
        runs.runtime.audit.record(
            AuditRecord(
                kind="execution", id=run.id, time=run.began, tenant=run.identity.tenant, session=run.session,
                caller=run.identity.caller, status=Cancelled.code,
            )
        )  # fmt: skip
