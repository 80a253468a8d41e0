"""Connects a tool call with its run: starts the run, passes its questions to the client, cancels it with the call, and builds
the answer."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    InputRequests,
    InputRequiredResult,
    TextContent,
)

from gristmill.errors import UnknownSession
from gristmill.model import Identity, Outcome
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.questions import Questions
from gristmill.runs.run_registry import RunViewer
from gristmill.runs.start_run import start_run, store_outcome_again
from gristmill.runtime.values.session_values import SessionRecord
from gristmill.serve.mcp.door_runs import VIA
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx, ask_directly, can_show_form, is_modern
from gristmill.serve.mcp.questions.take_answers import take_answers
from gristmill.serve.mcp.resources.file_resources import load_media_blocks
from gristmill.serve.mcp.tasks.task_shape import accepts_tasks, hand_out_task
from gristmill.serve.mcp.tools.outcome_result import build_error_result, build_tool_result
from gristmill.serve.mcp.tools.tool_surface import BRANCH_PREFIX, NEW_SESSION

LONGEST_TRUNK_NAME = 80
"""How much of a session's name the name of its branch repeats."""
Answer = CallToolResult | InputRequiredResult | dict[str, Any]
"""The answer to a tool call: the result, questions to the user, or a task."""
Work = Callable[[ActiveRun, AskClient | None, Ctx | None], Awaitable[Outcome]]
"""Does the work of a run. Takes the run, a way to ask the user (None: no questions), and the request that gets progress (None:
no progress)."""


async def begin_run(
    door: McpDoor, ctx: Ctx, session: str | None, work: Work, *, code: str | None = None, background: bool = False
) -> Answer:
    """Starts the work in the session with that handle, and answers with its outcome, its questions, a task, or its id.

    Raises:
        Error: there is no such session, there are too many runs, or the runtime could not be opened.
    """
    run = await prepare_run(door, ctx, session, code=code)
    asks = can_show_form(ctx) and not background
    run.may_outlive = background or accepts_tasks(ctx) or (asks and is_modern(ctx))
    # An older client is asked during the request; one of the 2026 revision sends its answers with another request.
    ask: AskClient | None = (run.ask if run.may_outlive else partial(ask_directly, ctx)) if asks else None
    start_run(await door.get_runs(), run, lambda: work(run, ask, None if background else ctx))
    return _build_running_result(door, run) if background else await wait_for_answer(door, ctx, run)


async def prepare_run(door: McpDoor, ctx: Ctx, session: str | None, *, code: str | None = None) -> ActiveRun:
    """Builds a run of this caller in the session with that handle, without starting it.

    Raises:
        Error: there is no such session, or the runtime could not be opened.
    """
    who = door.identify_caller(ctx)
    found = await _find_session(door, session, who)
    is_new = session is not None and (session == NEW_SESSION or session.startswith(BRANCH_PREFIX))
    return ActiveRun(
        identity=who, session=found.name if found else None, session_record=found, has_new_session=is_new,
        code=code, via=VIA,
    )  # fmt: skip


async def find_run(door: McpDoor, ctx: Ctx, id_: str) -> ActiveRun:
    """Returns the run of this caller with that id, through whichever door of the process it came.

    Raises:
        NotFound: this caller has no such run here.
        Error: the runtime could not be opened.
    """
    return (await door.get_runs()).registry.get(id_, RunViewer(identity=door.identify_caller(ctx)))


async def _find_session(door: McpDoor, wanted: str | None, who: Identity) -> SessionRecord | None:
    if wanted is None:
        return None
    if wanted == NEW_SESSION:
        return await (await door.hall()).session_stores.sessions.open(None, identity=who)
    if wanted.startswith(BRANCH_PREFIX):
        return await _branch_session(door, wanted.removeprefix(BRANCH_PREFIX), who)
    return await door.find_session(wanted, who)


async def _branch_session(door: McpDoor, handle: str, who: Identity) -> SessionRecord:
    """Returns a new session with a copy of the live interpreter of the session with that handle; both go on by themselves.

    Raises:
        UnknownSession: the caller has no such session, or it keeps no live interpreter.
    """
    runtime, trunk = await door.hall(), await door.find_session(handle, who)
    branch = f"{trunk.name[:LONGEST_TRUNK_NAME]}-{uuid.uuid4().hex[:16]}"
    try:
        await runtime.fork_session(trunk.name, branch, identity=who)
    except UnknownSession:  # the error names the session by a name that the client never saw
        raise UnknownSession(
            f"session {handle[:80]!r} keeps no variables to branch: run something in it first, or open one with {NEW_SESSION!r}"
        ) from None
    return await runtime.session_stores.sessions.find_by_name(branch, identity=who)


async def continue_run(door: McpDoor, ctx: Ctx, params: CallToolRequestParams) -> Answer:
    """Continues a run with the answers that the client sends to its questions.

    Raises:
        NotFound: this caller has no such run.
    """
    run = await find_run(door, ctx, params.request_state or "")
    take_answers(run, params.input_responses or {})  # questions without an answer are asked again
    return await wait_for_answer(door, ctx, run)


async def wait_for_answer(door: McpDoor, ctx: Ctx, run: ActiveRun, *, seconds: float | None = None) -> Answer:
    """Waits for the run, at most ``seconds``, and shorter for a client that accepts tasks; returns its answer."""
    tasks = accepts_tasks(ctx)
    try:
        questions = await run.wait_for_questions(door.task_after if tasks else seconds)
    except asyncio.CancelledError:
        if seconds is None:
            run.cancel()  # cancelling a call cancels its run; cancelling a later `resume` does not
        raise
    if run.ended is not None:
        return await build_end_result(door, ctx, run)
    if questions:
        run.start_answer_timer()
        return InputRequiredResult(input_requests=build_input_requests(questions), request_state=run.id)
    return hand_out_task(run) if tasks else _build_running_result(door, run)


async def build_end_result(door: McpDoor, ctx: Ctx, run: ActiveRun) -> CallToolResult:
    """Builds the result of a run that has ended: its outcome, its error, or that it was cancelled.

    Raises:
        StoreUnavailable: its record still cannot be stored.
        MCPError: it failed by a fault of ours; the log has the details.
    """
    await store_outcome_again(await door.get_runs(), run)
    if run.outcome is not None:
        return await build_result(door, ctx, run, run.outcome)
    if run.is_cancelled:
        return _build_cancelled_result(run)
    if run.problem is None or run.problem.message is None:
        raise MCPError(code=INTERNAL_ERROR, message="Internal server error")
    return build_error_result(run.problem.message, code=run.problem.code)


def build_input_requests(questions: Questions) -> InputRequests:
    """Returns the questions of a run as the input requests of an answer."""
    return {question.key: ElicitRequest(params=question.params) for question in questions}


async def build_result(door: McpDoor, ctx: Ctx, run: ActiveRun, outcome: Outcome) -> CallToolResult:
    """Builds the result that the caller gets: with the handle of the session and the images and sounds that it asked for.

    It also starts the announcement of changed files to listeners.
    """
    session = run.session_record
    if session is None and outcome.session is None:
        return build_tool_result(outcome)
    hall = await door.hall()
    stores = hall.session_stores
    if session is None:  # output that did not fit is in a new session: clients know sessions by handle
        session = await stores.sessions.find_by_name(str(outcome.session), identity=run.identity)
    files = stores.files(session)
    connection = None if is_modern(ctx) else ctx.session
    handle = door.name_session(session.handle)
    door.file_changes.start_announcing(run.identity, handle, files, connection)
    shown = replace(outcome, session=handle)
    expires = session.expires if run.has_new_session or run.session_record is None else None
    mask = partial(hall.content_masks.mask_file, session)
    return build_tool_result(shown, expires=expires, blocks=await load_media_blocks(files, outcome.result, mask))


def _build_running_result(door: McpDoor, run: ActiveRun) -> CallToolResult:
    handle = door.name_session(run.session_record.handle) if run.session_record else None
    fields = {"status": "running", "id": run.id} | ({"session": handle} if handle else {})
    session = f"\nsession: {handle}" if handle else ""
    text = f"running, id {run.id}; call execute_code with resume={run.id} to wait for it{session}"
    return CallToolResult(content=[TextContent(text=text)], structured_content=fields)


def _build_cancelled_result(run: ActiveRun) -> CallToolResult:
    text = f"cancelled, id {run.id}"
    return CallToolResult(
        content=[TextContent(text=text)], structured_content={"status": "cancelled", "id": run.id}, is_error=True
    )
