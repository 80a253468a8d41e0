"""The story of one execution: check, lease, run, return."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

from gristmill.errors import Refused
from gristmill.events import Emit
from gristmill.guard.validate import check
from gristmill.model import Execution, Outcome, Report
from gristmill.runtime.broker import compose
from gristmill.runtime.rooms import Rooms
from gristmill.sandbox.base import Job, Sandbox


async def execute(rooms: Rooms, execution: Execution, emit: Emit) -> Outcome:
    """Check, lease, run, return.

    Raises:
        SandboxError: the sandbox, not the code, failed.
    """
    try:
        check(execution.code)
        report = await _run(rooms, execution, emit)
    except Refused as refusal:
        report = Report(status="refused", error=refusal.message, error_type=refusal.code, isolation=rooms.pool.isolation)
    return _outcome(execution, report)


async def _run(rooms: Rooms, execution: Execution, emit: Emit) -> Report:
    job = Job(
        execution=execution.id,
        code=execution.code,
        limits=execution.limits,
        context=execution.context,
        session=execution.session,
        modules=await rooms.library.modules(),
    )
    async with _sandbox(rooms, execution) as sandbox:
        return await sandbox.run(job, compose(rooms.layers, rooms.upstreams), emit)


@asynccontextmanager
async def _sandbox(rooms: Rooms, execution: Execution) -> AsyncGenerator[Sandbox]:
    """Without a session a fresh sandbox, with one the interpreter that it keeps."""
    if execution.session is None:
        async with rooms.pool.lease(execution.limits) as sandbox:
            yield sandbox
    else:
        key = execution.session
        if rooms.keeping is not None:
            key = (await rooms.keeping.sessions.open(execution.session, caller=execution.caller)).key
        workspace = partial(rooms.workspaces.of, key)
        async with rooms.kept.use(key, execution.limits, workspace) as sandbox:
            yield sandbox


def _outcome(execution: Execution, report: Report) -> Outcome:
    return Outcome(
        id=execution.id,
        status=report.status,
        success=report.status == "ok",
        output=report.output,
        result=report.result,
        error=report.error,
        error_type=report.error_type,
        limit=report.limit,
        execution_time_ms=round(report.usage.seconds * 1000, 3),
        memory_mb=report.usage.memory_mb,
        tools_called=report.tools_called,
        isolation=report.isolation,
        truncated=report.truncated,
        state=report.state,
        session=execution.session,
    )
