"""The story of one execution: check, lease, run, ask, mask, shape, record, return."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Literal

from gristmill.errors import Busy, Refused
from gristmill.events import Emit, ignore
from gristmill.guard.mask.masked_events import MaskedEmit
from gristmill.model import LOCAL, Execution, Outcome, Plan, Replay, Report
from gristmill.runtime.execution.direct_call import OneCall
from gristmill.runtime.execution.execution_state import Run
from gristmill.runtime.execution.present_report import Presented
from gristmill.runtime.recording.recorder import ExecutionRecord
from gristmill.runtime.rooms import Rooms
from gristmill.sandbox.base import Job, Sandbox
from gristmill.values import dataclass

ROUNDS = 20
"""How often one execution may come back with new questions before it has to wait for good."""

APPROVER = "approver"
"""Who decides in the embedding application, as the record calls it."""

Approve = Callable[[Plan], Awaitable[Literal["all", "none"] | Sequence[int]]]
"""Shows a plan to whoever may decide; answers with the numbers of the calls that may be made."""


@dataclass(frozen=True, slots=True)
class _Way:
    """Who listens, who decides and who writes down while an execution goes through its passes."""

    emit: Emit
    approve: Approve | None
    record: ExecutionRecord
    one: OneCall | None = None


async def execute(
    rooms: Rooms, execution: Execution, emit: Emit, approve: Approve | None = None, *, one: OneCall | None = None
) -> Outcome:
    """Check, run, ask, mask, shape, record, return. With ``one`` that call is made as it is, instead of the code.

    Raises:
        NotFound: it is to resume something of which nothing is kept.
        SandboxError: the sandbox, not the code, failed.
        StoreUnavailable: what must be kept cannot be.
    """
    run = Run(execution=execution, root=execution.id)
    with rooms.recorder.execution(run) as record:
        advice, plan = (), None
        try:
            run = record.run = await rooms.desk.take_in(execution)
            advice = () if one else rooms.checks(run)
            run, report, plan = await _until_decided(rooms, run, _Way(emit, approve, record, one))
        except Refused as refusal:
            report = Report(status="refused", error=refusal.message, error_type=refusal.code, isolation=rooms.pool.isolation)
        shown = await rooms.present(run, report)
        return await record.finish(run, _outcome(run, shown, plan, advice))


async def _until_decided(rooms: Rooms, run: Run, way: _Way) -> tuple[Run, Report, Plan | None]:
    """Run; when calls have to wait for approval, ask, and run again with the answer."""
    report, rounds = await _run(rooms, run, way), 0
    while run.waits:
        await rooms.differences(run, way.record)
        try:
            plan, rounds = await rooms.desk.ask(run, report), rounds + 1
        except Busy as busy:
            return run, _not_asked(report, busy), None
        if way.approve is None or rounds == ROUNDS or not await _decided(rooms, plan, way.approve, run.execution.caller):
            return run, replace(report, status="awaiting_approval"), plan
        run = way.record.run = await rooms.desk.again(run)
        report = await _run(rooms, run, way)
    return run, report, rooms.desk.dry_plan(run, report)


def _not_asked(report: Report, busy: Busy) -> Report:
    """The end of a run that may not ask now; what it worked out rests on calls that were not made."""
    return replace(report, status="limited", result=None, error=busy.message, error_type="LimitExceeded", limit=busy.limit)


def _approver(caller: str) -> str:
    return APPROVER if caller == LOCAL else f"{APPROVER} at the client of {caller}"


async def _decided(rooms: Rooms, plan: Plan, approve: Approve, caller: str) -> bool:
    """Ask; false when nobody answered in time. Who decided by another way meanwhile was first, and that counts."""
    try:
        async with asyncio.timeout(rooms.desk.policy.approval_seconds):
            answer = await approve(plan)
        await rooms.desk.approvals.decide(plan.id, answer, by=_approver(caller))
    except TimeoutError:
        return False
    except Refused as refusal:
        if refusal.rule != "approval.once":
            raise
        return (await rooms.desk.approvals.get(plan.id)).standing != "expired"
    return True


async def _run(rooms: Rooms, run: Run, way: _Way) -> Report:
    execution = run.execution
    if way.one is not None:
        handler = rooms.broker.handler(run, way.record)
        report = await way.one.make(execution, handler, way.emit, partial(_save, rooms, run))
        return replace(report, isolation=rooms.pool.isolation)
    job = Job(
        execution=execution.id,
        code=execution.code,
        limits=execution.limits,
        context=execution.context,
        session=execution.session,
        caller=execution.caller,
        tenant=execution.tenant,
        modules=await rooms.library.modules(),
    )
    emit, flush = _heard(rooms, run, way.emit)
    async with _sandbox(rooms, run) as sandbox:
        try:
            return await sandbox.run(job, rooms.broker.handler(run, way.record), emit)
        finally:
            flush()


def _heard(rooms: Rooms, run: Run, emit: Emit) -> tuple[Emit, Callable[[], None]]:
    """Events as whoever listens may see them, and what to do when there are no more."""
    if emit is ignore or run.redactor is None or not rooms.present.masks:
        return emit, lambda: None
    masked = MaskedEmit(emit, run.redactor)
    return masked, masked.flush


async def _save(rooms: Rooms, run: Run, files: Mapping[str, bytes]) -> None:
    """Files that came with a direct call: there is no sandbox to write them, so they go in by the session's own door."""
    session = run.execution.session or run.execution.id  # as with results that do not fit: the outcome names it
    run.execution = replace(run.execution, session=session)
    save = await rooms.present.place(run, session)
    for path, content in files.items():
        await asyncio.to_thread(save, path, content)


@asynccontextmanager
async def _sandbox(rooms: Rooms, run: Run) -> AsyncGenerator[Sandbox]:
    """Without a session a fresh sandbox, with one the interpreter that it keeps, as it was before if this was a rehearsal."""
    limits = run.execution.limits
    if run.space is None:
        async with rooms.pool.lease(limits) as sandbox:
            yield sandbox
    else:
        workspace = partial(rooms.keeping.workspaces.of, run.space)
        undo = (lambda: bool(run.planned)) if rooms.may_rehearse(run.space, run.execution.code) else None
        async with rooms.kept.use(run.space, limits, workspace, undo) as sandbox:
            yield sandbox


def _outcome(run: Run, shown: Presented, plan: Plan | None, advice: tuple[str, ...]) -> Outcome:
    execution, report, shaped = run.execution, shown.report, shown.shaped
    return Outcome(
        id=execution.id,
        status=report.status,
        success=report.status == "ok",
        output=shaped.output,
        result=shaped.result,
        error=shaped.error,
        error_type=report.error_type,
        limit=report.limit,
        execution_time_ms=round(report.usage.seconds * 1000, 3),
        memory_mb=report.usage.memory_mb,
        tools_called=report.tools_called,
        isolation=report.isolation,
        truncated=shaped.truncated,
        state=report.state,
        session=shown.session,
        advice=advice,
        left_out=shaped.left_out,
        plan=plan,
        replay=Replay(of=execution.resume, answered=len(run.answered), diverged=run.diverged) if execution.resume else None,
    )
