"""A run and whoever waits for it: begun, asked about in the way of the client's era, cancelled with its call, answered."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_types import CallToolRequestParams, CallToolResult, ElicitRequest, ElicitResult, InputRequiredResult, TextContent

from gristmill.model import Outcome
from gristmill.serve.mcp.asking import AskClient, Ctx, ask_through, can_answer, is_modern
from gristmill.serve.mcp.files import blocks
from gristmill.serve.mcp.outcome import to_result
from gristmill.serve.mcp.runs import Question, Run
from gristmill.serve.mcp.state import Door
from gristmill.serve.mcp.surface import NEW
from gristmill.serve.mcp.who import Who
from gristmill.session.sessions import SessionRecord

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime

Answer = CallToolResult | InputRequiredResult
Work = Callable[[Run, AskClient | None, Ctx | None], Awaitable[Outcome]]
"""Does what was asked for: for a run, with somebody who answers questions, for a client that may want progress."""


async def begin(door: Door, ctx: Ctx, session: str | None, work: Work, *, background: bool = False) -> Answer:
    """Start the work in the session of that handle, and answer with its outcome, a question of it, or its id.

    Raises:
        Error: no such session, too many runs, a runtime that could not be opened.
    """
    who = door.who(ctx)
    found = await _session(await door.hall(), session, who)
    run = Run(id=uuid.uuid4().hex, who=who, session=found, opened=session == NEW)
    if background:
        door.runs.start(run, lambda run: work(run, None, None))
        return _running(run)
    asks = can_answer(ctx)
    if asks and is_modern(ctx):
        door.runs.start(run, lambda run: work(run, run.ask, ctx))
        return await conclude(door, ctx, run)
    # An older client is asked on the spot, and one that cannot answer not at all: no second task is needed.
    outcome = await work(run, (lambda params: ask_through(ctx, params)) if asks else None, ctx)
    return await _result(door, ctx, run, outcome)


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
    asked = run.open_question
    if asked and not asked.answer.done():
        given = (params.input_responses or {}).get(asked.key)
        # Without an answer the same question goes out again; a wrong kind of answer is a no.
        if given is not None:
            asked.answer.set_result(given if isinstance(given, ElicitResult) else ElicitResult(action="cancel"))
            run.open_question = None
            run.asked.clear()
    return await conclude(door, ctx, run)


async def conclude(door: Door, ctx: Ctx, run: Run, *, seconds: float | None = None) -> Answer:
    """Wait for the run, no longer than ``seconds``."""
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
