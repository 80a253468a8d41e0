"""A run and whoever waits for it: begun, asked about in the way of the client's era, cancelled with its call, answered."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_types import CallToolRequestParams, CallToolResult, ElicitRequest, InputRequests, InputRequiredResult, TextContent

from gristmill.model import Outcome
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx, ask_through, can_answer, is_modern
from gristmill.serve.mcp.resources.file_resources import blocks
from gristmill.serve.mcp.run import Questions, Run
from gristmill.serve.mcp.tasks.task_shape import handle, has_tasks
from gristmill.serve.mcp.tools.outcome_result import to_result
from gristmill.serve.mcp.tools.tool_surface import NEW
from gristmill.serve.mcp.who import Who
from gristmill.session.session_register import SessionRecord

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime

Answer = CallToolResult | InputRequiredResult | dict[str, Any]
"""What came of it, a question, or a task."""
Work = Callable[[Run, AskClient | None, Ctx | None], Awaitable[Outcome]]
"""Does what was asked for: for a run, with somebody who answers questions, for a client that may want progress."""


async def begin(door: Door, ctx: Ctx, session: str | None, work: Work, *, background: bool = False) -> Answer:
    """Start the work in the session of that handle, and answer with its outcome, a question of it, a task, or its id.

    Raises:
        Error: no such session, too many runs, a runtime that could not be opened.
    """
    run = await prepare(door, ctx, session)
    if background:
        door.runs.start(run, lambda run: work(run, None, None))
        return _running(run)
    asks = can_answer(ctx)
    if has_tasks(ctx) or (asks and is_modern(ctx)):
        door.runs.start(run, lambda run: work(run, run.ask if asks else None, ctx))
        return await conclude(door, ctx, run)
    # An older client is asked on the spot, and one that cannot answer not at all: no second task is needed.
    outcome = await work(run, (lambda params: ask_through(ctx, params)) if asks else None, ctx)
    return await result_of(door, ctx, run, outcome)


async def prepare(door: Door, ctx: Ctx, session: str | None) -> Run:
    """A run of this caller in the session of that handle, not begun yet.

    Raises:
        Error: no such session, a runtime that could not be opened.
    """
    who = door.who(ctx)
    found = await _session(await door.hall(), session, who)
    return Run(id=uuid.uuid4().hex, who=who, session=found, opened=session == NEW)


async def _session(runtime: "Runtime", wanted: str | None, who: Who) -> SessionRecord | None:
    """The session that the handle names; a handle is no proof, the caller must be its own."""
    if wanted is None:
        return None
    sessions = runtime.keeping.sessions
    find = sessions.open(None, who.tenant, who.caller) if wanted == NEW else sessions.get(wanted, who.tenant, who.caller)
    return await find


async def take_up(door: Door, ctx: Ctx, params: CallToolRequestParams) -> Answer:
    """The client comes back with what a run asked for.

    Raises:
        NotFound: there is no such run of this caller.
    """
    run = door.runs.get(params.request_state or "", door.who(ctx))
    run.answer(params.input_responses or {})  # what is not answered goes out again
    return await conclude(door, ctx, run)


async def conclude(door: Door, ctx: Ctx, run: Run, *, seconds: float | None = None) -> Answer:
    """Wait for the run, no longer than ``seconds``, and not that long for a client that has tasks."""
    tasks = has_tasks(ctx)
    try:
        found = await run.attend(door.task_after if tasks else seconds)
    except asyncio.CancelledError:
        if seconds is None:
            run.task.cancel()  # whoever cancels a call stops its run; whoever stops waiting for another does not
            raise
        if not run.task.cancelled():
            raise
        return _cancelled(run)
    if isinstance(found, Outcome):
        return await result_of(door, ctx, run, found)
    if found:
        run.park()
        return InputRequiredResult(input_requests=requests_of(found), request_state=run.id)
    return handle(run) if tasks else _running(run)


def requests_of(questions: Questions) -> InputRequests:
    """What a run asks, as requests that a client finds in an answer of ours."""
    return {question.key: ElicitRequest(params=question.params) for question in questions}


async def result_of(door: Door, ctx: Ctx, run: Run, outcome: Outcome) -> CallToolResult:
    """The outcome as the caller gets it: sessions by handle, what it asked to show, and whoever listens told of its files."""
    session = run.session
    if session is None and outcome.session is None:
        return to_result(outcome)
    keeping = (await door.hall()).keeping
    if session is None:  # what did not fit lies in a session of its own: clients know sessions by handle
        session = await keeping.sessions.named(str(outcome.session), run.who.tenant)
    files = keeping.files(session)
    connection = None if is_modern(ctx) else ctx.session
    door.changes.after_run(run.who, session.handle, files, connection)
    shown = replace(outcome, session=session.handle)
    expires = session.expires if run.opened or run.session is None else None
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
