"""What the runtime is told about a run besides the work itself: whose it is, who approves, who answers, who listens."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from mcp_types import ElicitRequestFormParams

from gristmill.model import Plan
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.progress import Progress, Report
from gristmill.serve.mcp.questions.ask_approval import SCHEMA, approved, question
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx, can_visit
from gristmill.serve.mcp.questions.may_approve import may_approve
from gristmill.serve.mcp.questions.server_questions import passed_on
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.tasks.task_shape import has_tasks

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime


@asynccontextmanager
async def with_options(
    door: Door, runtime: "Runtime", run: Run, ask: AskClient | None, ctx: Ctx | None
) -> AsyncGenerator[dict[str, Any]]:
    """Options of ``Runtime.execute`` and ``Runtime.call``; progress goes out as long as this is entered."""
    options: dict[str, Any] = {"caller": run.who.caller, "tenant": run.who.tenant, "execution_id": run.id}
    if run.session:
        options["session"] = run.session.name
    if ask:
        if may_approve(ctx):
            options["approve"] = _approver(ask)
        if ctx and runtime.can_ask:
            options["ask"] = passed_on(ask, pages=can_visit(ctx))
    if ctx is None or not (run.is_task or _may_want_progress(door, ctx)):
        yield options
        return
    async with Progress(_teller(run, ctx)) as progress:
        yield {**options, "emit": progress}


def _may_want_progress(door: Door, ctx: Ctx) -> bool:
    """Whoever did not ask for progress is not sent any, and then nothing has to listen to the run."""
    return not door.on_wire or has_tasks(ctx) or bool(ctx.meta and ctx.meta.get("progress_token") is not None)


def _teller(run: Run, ctx: Ctx) -> Report:
    """Sends progress with the request under way. A task has none, but says the same when it is asked for."""

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        run.message = message
        if not run.is_task:
            await ctx.session.report_progress(progress, total, message)

    return tell


def _approver(ask: AskClient) -> Callable[[Plan], Awaitable[Literal["none"] | tuple[int, ...]]]:
    async def approve(plan: Plan) -> Literal["none"] | tuple[int, ...]:
        answer = await ask(ElicitRequestFormParams(message=question(plan), requested_schema=SCHEMA))
        numbers = approved(plan, answer.content) if answer.action == "accept" else frozenset[int]()
        return tuple(sorted(numbers)) or "none"

    return approve
