"""The story of one execution: check, lease, run, ask, mask, shape, record, return."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace as replace_outcome
from functools import partial
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gristmill.errors import Busy, Refused
from gristmill.events import Emit, ignore_event
from gristmill.guard.mask.masked_events import MaskedEmit
from gristmill.model import LOCAL, ContentPart, Execution, Handler, Outcome, Plan, Replay, Report
from gristmill.runtime.calls.recorded_names import name_events, name_tools_called
from gristmill.runtime.execution.answer.explain_notes import explain_notes
from gristmill.runtime.execution.answer.present_content import present_content
from gristmill.runtime.execution.answer.present_report import PresentedReport
from gristmill.runtime.execution.direct_call import DirectCall
from gristmill.runtime.execution.execution_state import ExecutionState
from gristmill.runtime.execution.program.fit_literals import fit_context, fit_literals
from gristmill.runtime.execution.program.repair_code import describe_repair, explain_code, repair_code, unwrap_code
from gristmill.runtime.execution.program.typescript_programs import is_typescript, prepare_program, switch_to_typescript
from gristmill.runtime.execution.revert_writes import list_writes
from gristmill.runtime.recording.recorder import ExecutionRecorder
from gristmill.runtime.rooms import Rooms
from gristmill.sandbox.base import CallGate, NotBegun, SandboxJob
from gristmill.sandbox.pool.kept_interpreters import LentInterpreter

DISK_LIMITS = frozenset({"workspace_mb", "workspace_files"})
LISTING_SECONDS = 10.0
"""How long a program with names that it does not define waits for servers that were never listed."""
MOST_ROUNDS = 20
"""How often one execution may ask for approval before its outcome is ``awaiting_approval``."""

APPROVER = "approver"
"""The name, in records, of the person who decides in the embedding application."""

Approve = Callable[[Plan], Awaitable[Literal["all", "none"] | Sequence[int]]]
"""Shows a plan to a person who may decide, and returns the numbers of the calls that may be made."""


class _Listeners(Struct, frozen=True):
    """Who receives events, who decides about plans, and who records, while an execution is run once or several times."""

    emit: Emit
    approve: Approve | None
    record: ExecutionRecorder
    direct: DirectCall | None = None


async def execute(
    rooms: Rooms, execution: Execution, emit: Emit, approve: Approve | None = None, *, direct: DirectCall | None = None
) -> Outcome:
    """Executes: check, run, ask, mask, shape, record, return. With ``direct`` that call is made, instead of running the code.

    Raises:
        NotFound: it resumes an execution of which no record is kept.
        Conflict: it resumes an execution that was recorded without its context, and does not bring the code.
        SandboxError: the sandbox, not the code, failed.
        StoreUnavailable: the store cannot be written.
    """
    run = ExecutionState(execution=execution, root=execution.id)
    with rooms.recorder.open_execution(run) as record, rooms.broker.clean_errors.clean_raised():
        advice, repaired, plan = (), (), None
        try:
            run = record.run = await rooms.intake.begin_run(execution)
            repaired = () if direct or is_typescript(run) else unwrap_code(run)
            advice = () if direct else await _check_code(rooms, run)
            listeners = _Listeners(emit, approve, record, direct)
            run, report, plan = await _run_until_decided(rooms, run, listeners)
            if report.error_type and direct is None and switch_to_typescript(run, report, rooms.typescript):
                advice = await _check_code(rooms, run)
                run, report, plan = await _run_until_decided(rooms, run, listeners)
            elif report.error_type and direct is None and (steps := repair_code(run, report)):
                repaired, advice = (*repaired, *steps), await _check_code(rooms, run)
                run, report, plan = await _run_until_decided(rooms, run, listeners)
            advice = (*advice, *explain_code(run, report)) if report.error_type else advice
        except Refused as refusal:
            report = Report(status="refused", error=refusal.message, error_type=refusal.code, isolation=rooms.pool.isolation)
        advice = (*advice, *run.conversions, *explain_notes(report.notes))
        content, withheld = _present_content(rooms, run, report) if report.content else ((), ())
        shown = await rooms.presenter(run, report)
        writes, undo = list_writes(run, shown.report, rooms.intake.policy)
        told = describe_repair(repaired, rooms.check_code.list_packages)
        outcome = _build_outcome(run, shown, plan, (*told, *advice, *withheld, *rooms.hints(run, shown.report), *undo))
        changed = repaired or content or writes
        return await record.finish(
            run, replace_outcome(outcome, repaired=repaired, content=content, writes=writes) if changed else outcome
        )


def _present_content(rooms: Rooms, run: ExecutionState, report: Report) -> tuple[tuple[ContentPart, ...], tuple[str, ...]]:
    """Returns the pictures and tables of a run as the caller may see them, and lines about those that are withheld."""
    redactor = run.redactor if rooms.presenter.masks else None
    return present_content(report.content, redactor, withholds=rooms.content_masks.withholds)


async def _check_code(rooms: Rooms, run: ExecutionState) -> tuple[str, ...]:
    """Checks the code; names that it does not define may be tools of a server that is only now being listed."""
    if rooms.check_code.needs_listing(run):
        await rooms.discovery.wait_until_listed(LISTING_SECONDS)
    return rooms.check_code(run)


async def _run_until_decided(
    rooms: Rooms, run: ExecutionState, listeners: _Listeners
) -> tuple[ExecutionState, Report, Plan | None]:
    """Runs the program; when calls need approval, asks, and runs it again with the answer."""
    report, rounds = await _run_once(rooms, run, listeners), 0
    while run.waits_for_approval:
        await rooms.plan_differences(run, listeners.record)
        try:
            plan, rounds = await rooms.intake.ask_approval(run, report), rounds + 1
        except Busy as busy:
            return run, _end_without_asking(report, busy), None
        if (
            listeners.approve is None
            or rounds == MOST_ROUNDS
            or not await _ask_approver(rooms, plan, listeners.approve, run.execution.identity.caller)
        ):
            return run, replace(report, status="awaiting_approval"), plan
        run = listeners.record.run = await rooms.intake.prepare_next_pass(run)
        report = await _run_once(rooms, run, listeners)
    return run, report, rooms.intake.build_dry_plan(run, report)


def _end_without_asking(report: Report, busy: Busy) -> Report:
    """Returns the report of a run that may not ask now; its result is dropped, because it rests on calls that were not made."""
    return replace(report, status="limited", result=None, error=busy.message, error_type="LimitExceeded", limit=busy.limit)


def name_approver(caller: str) -> str:
    """Returns the name, in records, of the person who decides at the client of ``caller``."""
    return APPROVER if caller == LOCAL else f"{APPROVER} at the client of {caller}"


async def _ask_approver(rooms: Rooms, plan: Plan, approve: Approve, caller: str) -> bool:
    """Asks the approver; returns false if no answer came in time. A decision made elsewhere in the meantime counts instead."""
    try:
        async with asyncio.timeout(rooms.intake.policy.approval_seconds):
            answer = await approve(plan)
        await rooms.intake.approvals.decide(plan.id, answer, by=name_approver(caller))
    except TimeoutError:
        return False
    except Refused as refusal:
        if refusal.rule != "approval.once":
            raise
        return (await rooms.intake.approvals.get(plan.id)).standing != "expired"
    return True


async def _run_once(rooms: Rooms, run: ExecutionState, listeners: _Listeners) -> Report:
    """Runs the program, or makes the direct call, once. Tools have the names of the catalogue in what comes back."""
    name_tool = rooms.recorder.name_tool
    report = await _run_or_call(rooms, run, listeners, name_events(listeners.emit, name_tool))
    return replace(report, tools_called=name_tools_called(report.tools_called, name_tool)) if report.tools_called else report


async def _run_or_call(rooms: Rooms, run: ExecutionState, listeners: _Listeners, emit: Emit) -> Report:
    execution = run.execution
    if listeners.direct is not None:
        handler = rooms.broker.handler(run, listeners.record)
        report = await listeners.direct.make_call(execution, handler, emit, partial(_save_files, rooms, run))
        return replace(report, isolation=rooms.pool.isolation)
    emit, flush = _mask_events(rooms, run, emit)
    handler = rooms.broker.handler(run, listeners.record)
    try:
        try:
            return await _run_in_sandbox(rooms, run, handler, emit)
        except NotBegun:
            # Nothing of the program has run: the session's interpreter was broken by an earlier one, and it gets a fresh one.
            return await _run_in_sandbox(rooms, run, handler, emit)
    finally:
        flush()


async def _run_in_sandbox(rooms: Rooms, run: ExecutionState, handler: Handler, emit: Emit) -> Report:
    execution, modules = run.execution, await rooms.library.write_modules()
    async with _open_sandbox(rooms, run) as lent:
        run.gate, run.loss = CallGate(), run.loss or lent.loss
        job = SandboxJob(
            execution=execution.id,
            code=prepare_program(rooms.library.catalog, run) if is_typescript(run) else fit_literals(run, rooms.config.mask.mode),
            limits=execution.limits,
            context=fit_context(run, rooms.config.mask.mode),
            session=execution.session,
            identity=execution.identity,
            modules=modules,
            names=run.undefined,
            gate=run.gate,
            spent_seconds=lent.spent_seconds,
        )
        report = await lent.sandbox.run(job, handler, emit)
    rooms.recorder.metrics.count_cpu(report.usage.cpu_seconds)
    if run.space is not None and report.limit in DISK_LIMITS:
        await asyncio.to_thread(rooms.session_stores.trim_workspace, run.space, execution.limits)
    return report


def _mask_events(rooms: Rooms, run: ExecutionState, emit: Emit) -> tuple[Emit, Callable[[], None]]:
    """Returns an emitter that masks program output in events, and the function that flushes it at the end."""
    if emit is ignore_event or run.redactor is None or not rooms.presenter.masks:
        return emit, lambda: None
    masked = MaskedEmit(emit, run.redactor)
    return masked, masked.flush


async def _save_files(rooms: Rooms, run: ExecutionState, files: Mapping[str, bytes]) -> None:
    """Saves files that came with a direct call: there is no sandbox to write them, so they go into the session's workspace."""
    session = run.execution.session or run.execution.id  # as with results that are too long: the outcome names this session
    run.execution = replace(run.execution, session=session)
    save = await rooms.presenter.place(run, session)
    for path, content in files.items():
        await asyncio.to_thread(save, path, content)


@asynccontextmanager
async def _open_sandbox(rooms: Rooms, run: ExecutionState) -> AsyncGenerator[LentInterpreter]:
    """Opens a fresh sandbox, or the interpreter that a session keeps; a rehearsal in the latter is undone afterwards."""
    limits, pool, interpreters = run.execution.limits, rooms.pool, rooms.interpreters
    if is_typescript(run):
        opened = await rooms.typescript.open()
        pool, interpreters = opened.pool, opened.interpreters
    if run.space is None:
        async with pool.lease(limits) as sandbox:
            yield LentInterpreter(sandbox=sandbox)
    else:
        workspace = partial(rooms.session_stores.workspaces.make_folder, run.space)
        undo = (lambda: bool(run.planned)) if rooms.may_rehearse(run.space, run.execution.code) else None
        async with interpreters.use(run.space, limits, workspace, undo, share=run.execution.identity.tenant) as lent:
            yield lent


def _build_outcome(run: ExecutionState, shown: PresentedReport, plan: Plan | None, advice: tuple[str, ...]) -> Outcome:
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
        advice=(*advice, *([f"the variables of this session are gone: {run.loss}"] if run.loss else [])),
        left_out=shaped.left_out,
        plan=plan,
        replay=Replay(of=execution.resume, answered=len(run.answered), diverged=run.diverged) if execution.resume else None,
    )
