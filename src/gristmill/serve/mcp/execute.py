"""``execute_code``: a session, a run, a question perhaps, an outcome."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)

from gristmill.errors import NotFound
from gristmill.model import Budget, Outcome, Plan
from gristmill.serve.auth import tenant_of
from gristmill.serve.mcp.approvals import SCHEMA, approved, question
from gristmill.serve.mcp.arguments import ExecuteArguments, WrongArguments, checked
from gristmill.serve.mcp.asking import AskClient, Ctx, ask_through, can_answer, is_modern
from gristmill.serve.mcp.files import blocks
from gristmill.serve.mcp.outcome import to_result
from gristmill.serve.mcp.progress import Progress
from gristmill.serve.mcp.runs import Question, Run
from gristmill.serve.mcp.state import Door
from gristmill.serve.mcp.surface import NEW
from gristmill.session.sessions import SessionRecord

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime

WAIT_SECONDS = 50.0
"""How long ``resume`` waits before it says "still running": below the minute that many clients give a tool."""

Answer = CallToolResult | InputRequiredResult


async def execute_code(door: Door, ctx: Ctx, params: CallToolRequestParams) -> Answer:
    """Answer one call of the tool.

    Raises:
        Error: a session or a run that is not there, a runtime that could not be opened.
        WrongArguments: they do not fit.
    """
    caller = door.caller(ctx)
    if params.request_state is not None:
        return await _continue(door, ctx, params, caller)
    wanted = checked(ExecuteArguments, params.arguments)
    if wanted.resume is not None and wanted.code is None:
        try:
            run = door.runs.get(wanted.resume, caller)
        except NotFound:
            pass  # not under way here: the journal knows it, or says that it does not
        else:
            return await _conclude(door, ctx, run, seconds=WAIT_SECONDS)
    elif wanted.code is None:
        raise WrongArguments("wrong arguments: code is needed, or resume with the id of a run")
    return await _begin(door, ctx, wanted, caller)


async def _begin(door: Door, ctx: Ctx, wanted: ExecuteArguments, caller: str) -> Answer:
    session = await _session(await door.hall(), wanted.session, caller)
    run = Run(id=uuid.uuid4().hex, caller=caller, session=session, opened=wanted.session == NEW)
    if wanted.background:
        door.runs.start(run, lambda run: _execute(door, wanted, run, None, None))
        return _running(run)
    asks = can_answer(ctx)
    if asks and is_modern(ctx):
        door.runs.start(run, lambda run: _execute(door, wanted, run, run.ask, ctx))
        return await _conclude(door, ctx, run)
    # An older client is asked on the spot, and one that cannot answer not at all: no second task is needed.
    outcome = await _execute(door, wanted, run, (lambda params: ask_through(ctx, params)) if asks else None, ctx)
    return await _result(door, ctx, run, outcome)


async def _session(runtime: "Runtime", wanted: str | None, caller: str) -> SessionRecord | None:
    """The session that the handle names; a handle is no proof, the caller must be its own."""
    if wanted is None:
        return None
    sessions = runtime.keeping.sessions
    tenant = tenant_of(caller)
    return await (sessions.open(None, tenant, caller) if wanted == NEW else sessions.get(wanted, tenant, caller))


async def _execute(door: Door, wanted: ExecuteArguments, run: Run, ask: AskClient | None, ctx: Ctx | None) -> Outcome:
    runtime = await door.hall()
    options: dict[str, Any] = {
        "session": run.session.name if run.session else None,
        "limits": {"seconds": wanted.timeout} if wanted.timeout else None,
        "context": wanted.context,
        "resume": wanted.resume,
        "budget": wanted.budget and Budget(output_tokens=wanted.budget, result_tokens=wanted.budget),
        "caller": run.caller,
        "tenant": tenant_of(run.caller),
        "execution_id": run.id,
        "approve": _approver(ask) if ask else None,
    }
    async with AsyncExitStack() as stack:
        if ctx:  # whoever did not ask for progress is not sent any: the SDK knows
            options["emit"] = await stack.enter_async_context(Progress(ctx.session.report_progress))
        # A resumed run without new code runs the old: the runtime has it.
        return await runtime.execute(wanted.code, **{name: value for name, value in options.items() if value is not None})


def _approver(ask: AskClient) -> Callable[[Plan], Awaitable[Literal["none"] | tuple[int, ...]]]:
    async def approve(plan: Plan) -> Literal["none"] | tuple[int, ...]:
        answer = await ask(ElicitRequestFormParams(message=question(plan), requested_schema=SCHEMA))
        numbers = approved(plan, answer.content) if answer.action == "accept" else frozenset[int]()
        return tuple(sorted(numbers)) or "none"

    return approve


async def _continue(door: Door, ctx: Ctx, params: CallToolRequestParams, caller: str) -> Answer:
    """The client comes back with what the run asked for."""
    run = door.runs.get(params.request_state or "", caller)
    asked = run.open_question
    if asked and not asked.answer.done():
        given = (params.input_responses or {}).get(asked.key)
        # Without an answer the same question goes out again; a wrong kind of answer is a no.
        if given is not None:
            asked.answer.set_result(given if isinstance(given, ElicitResult) else ElicitResult(action="cancel"))
            run.open_question = None
            run.asked.clear()
    return await _conclude(door, ctx, run)


async def _conclude(door: Door, ctx: Ctx, run: Run, *, seconds: float | None = None) -> Answer:
    try:
        found = await run.attend(seconds)
    except asyncio.CancelledError:
        if seconds is None:
            run.task.cancel()  # whoever cancels a call stops its run; whoever stops waiting for another does not
            raise
        if not run.task.cancelled():
            raise
        return _cancelled(run)
    match found:
        case None:
            return _running(run)
        case Question():
            run.park()
            return InputRequiredResult(input_requests={found.key: ElicitRequest(params=found.params)}, request_state=run.id)
        case Outcome():
            return await _result(door, ctx, run, found)


async def _result(door: Door, ctx: Ctx, run: Run, outcome: Outcome) -> CallToolResult:
    if run.session is None:
        return to_result(outcome)
    files = (await door.hall()).keeping.files(run.session)
    connection = None if is_modern(ctx) else ctx.session
    door.changes.after_run(run.caller, run.session.handle, files, connection)
    shown = replace(outcome, session=run.session.handle)
    expires = run.session.expires if run.opened else None
    return to_result(shown, expires=expires, blocks=await blocks(files, outcome.result))


def _running(run: Run) -> CallToolResult:
    fields = {"status": "running", "id": run.id} | ({"session": run.session.handle} if run.session else {})
    session = f"\nsession: {run.session.handle}" if run.session else ""
    text = f"running, id {run.id}; call execute_code with resume={run.id} to wait for it{session}"
    return CallToolResult(content=[TextContent(text=text)], structured_content=fields)


def _cancelled(run: Run) -> CallToolResult:
    text = f"cancelled, id {run.id}"
    return CallToolResult(
        content=[TextContent(text=text)], structured_content={"status": "cancelled", "id": run.id}, is_error=True
    )
