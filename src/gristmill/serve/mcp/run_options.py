"""Builds the options that the runtime gets for a run: its caller, who approves, who answers questions, who gets events."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from mcp_types import ElicitRequestFormParams

from gristmill.events import Emit, Event
from gristmill.model import Plan
from gristmill.runs.active_run import ActiveRun
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.progress import Progress, Report
from gristmill.serve.mcp.questions.ask_approval import ANSWER_SCHEMA, read_approved_numbers, write_question
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx, can_open_page
from gristmill.serve.mcp.questions.may_approve import may_approve
from gristmill.serve.mcp.questions.server_questions import forward_questions
from gristmill.serve.mcp.tasks.task_shape import accepts_tasks

if TYPE_CHECKING:
    from gristmill.runs.served_runs import ServedRuns
    from gristmill.runtime.runtime import Runtime


@asynccontextmanager
async def open_run_options(
    door: McpDoor, runtime: "Runtime", run: ActiveRun, ask: AskClient | None, ctx: Ctx | None
) -> AsyncGenerator[dict[str, Any]]:
    """Yields the options of ``Runtime.execute`` and ``Runtime.call``; progress is sent while the context is open."""
    run.conversation = door.conversations.name(run.identity)
    options: dict[str, Any] = {
        "identity": run.identity, "execution_id": run.id, "conversation": run.conversation, "arm": run.arm
    }  # fmt: skip
    served = await door.get_runs()
    if run.session:
        options["session"] = run.session
    if served.keeps_events:
        options["emit"] = run.record_event
    if ask:
        if may_approve(ctx):
            options["approve"] = _build_approver(served, run, ask)
        if ctx and runtime.can_ask:
            options["ask"] = forward_questions(ask, pages=can_open_page(ctx))
    if ctx is None or not (run.is_task or _may_want_progress(door, ctx)):
        yield options
        return
    async with Progress(_build_reporter(run, ctx)) as progress:
        yield {**options, "emit": partial(_emit_to_both, run.record_event, progress) if served.keeps_events else progress}


def _emit_to_both(one: Emit, other: Emit, event: Event) -> None:
    one(event)
    other(event)


def _may_want_progress(door: McpDoor, ctx: Ctx) -> bool:
    """Whether the client may want progress. If it did not ask for any, nothing needs to receive the events of the run."""
    return not door.on_wire or accepts_tasks(ctx) or bool(ctx.meta and ctx.meta.get("progress_token") is not None)


def _build_reporter(run: ActiveRun, ctx: Ctx) -> Report:
    """Builds the function that sends progress with the open request. A task has no open request: it keeps the message instead."""

    async def report(progress: float, total: float | None, message: str | None) -> None:
        run.message = message
        if not run.is_task:
            await ctx.session.report_progress(progress, total, message)

    return report


def _build_approver(
    served: "ServedRuns", run: ActiveRun, ask: AskClient
) -> Callable[[Plan], Awaitable[Literal["none"] | tuple[int, ...]]]:
    async def approve(plan: Plan) -> Literal["none"] | tuple[int, ...]:
        question = ElicitRequestFormParams(message=write_question(plan), requested_schema=ANSWER_SCHEMA)
        async with served.lend_place(run):  # while a person is asked, others may run
            answer = await ask(question)
        numbers = read_approved_numbers(plan, answer.content) if answer.action == "accept" else frozenset[int]()
        return tuple(sorted(numbers)) or "none"

    return approve
