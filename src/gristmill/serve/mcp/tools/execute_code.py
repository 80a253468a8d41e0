"""Answers ``execute_code``: runs a program, or waits for or resumes an earlier run."""

from typing import Any

from mcp_types import CallToolRequestParams

from gristmill.errors import NotFound
from gristmill.model import Budget, Json, Outcome
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.start_run import refuse_if_running, start_run
from gristmill.serve.mcp.answer_call import Answer, begin_run, continue_run, find_run, prepare_run, wait_for_answer
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx, can_show_form
from gristmill.serve.mcp.run_options import open_run_options
from gristmill.serve.mcp.tools.caller_context import read_caller_context
from gristmill.serve.mcp.tools.tool_arguments import ExecuteArguments, WrongArguments, check_arguments

WAIT_SECONDS = 50.0
"""How long ``resume`` waits before it answers "running": less than the minute after which many clients give up."""


async def execute_code(door: McpDoor, ctx: Ctx, params: CallToolRequestParams) -> Answer:
    """Answers one call of the tool.

    Raises:
        Error: there is no such session or run, or the runtime could not be opened.
        WrongArguments: the arguments are not valid.
    """
    if params.request_state is not None:
        return await continue_run(door, ctx, params)
    wanted = check_arguments(ExecuteArguments, params.arguments)
    if (run := await _find_awaited_run(door, ctx, wanted)) is not None:
        return await wait_for_answer(door, ctx, run, seconds=WAIT_SECONDS)

    context = read_caller_context(ctx)

    async def work(run: ActiveRun, ask: AskClient | None, ctx: Ctx | None) -> Outcome:
        return await _execute_wanted(door, wanted, context, run, ask, ctx)

    return await begin_run(door, ctx, wanted.session, work, code=wanted.code, background=wanted.background)


async def begin_task(door: McpDoor, ctx: Ctx, params: CallToolRequestParams) -> ActiveRun:
    """Starts the run of one call of the tool as a task, without waiting for it.

    Raises:
        Error: there is no such session, there are too many runs, or the runtime could not be opened.
        WrongArguments: the arguments are not valid.
    """
    wanted, context = check_arguments(ExecuteArguments, params.arguments), read_caller_context(ctx)
    found = await _find_awaited_run(door, ctx, wanted)
    run = found or await prepare_run(door, ctx, wanted.session, code=wanted.code)
    run.is_task = True
    if found is None:
        run.may_outlive, ask = True, run.ask if can_show_form(ctx) else None
        start_run(await door.get_runs(), run, lambda: _execute_wanted(door, wanted, context, run, ask, ctx))
    return run


async def _find_awaited_run(door: McpDoor, ctx: Ctx, wanted: ExecuteArguments) -> ActiveRun | None:
    """Returns the run that the call wants to wait for; None if it wants to execute something.

    Raises:
        Conflict: it wants to resume a run with other code, or one of another process, that is still running.
    """
    if wanted.resume is None:
        if wanted.code is None:
            raise WrongArguments("wrong arguments: code is needed, or resume with the id of a run")
        return None
    resume = await (await door.hall()).find_execution_id(wanted.resume, identity=door.identify_caller(ctx))
    if wanted.code is None:
        try:
            run = await find_run(door, ctx, resume)
        except NotFound:
            pass  # not active here: the runtime looks for it in the journal
        else:
            if run.ended is None or _is_answer_kept(run):
                return run
    await refuse_if_running(await door.get_runs(), resume, door.identify_caller(ctx))
    return None


def _is_answer_kept(run: ActiveRun) -> bool:
    """Whether the answer of a run that has ended is kept for its client, which may not have got it; a plan is to be resumed."""
    return run.may_outlive and not (run.outcome is not None and run.outcome.status == "awaiting_approval")


async def _execute_wanted(
    door: McpDoor, wanted: ExecuteArguments, context: dict[str, Json], run: ActiveRun, ask: AskClient | None, ctx: Ctx | None
) -> Outcome:
    runtime = await door.hall()
    asked: dict[str, Any] = {
        "limits": {"seconds": wanted.timeout} if wanted.timeout else None,
        "context": context or None,
        "resume": wanted.resume,
        "language": wanted.language,
        "budget": wanted.budget and Budget(output_tokens=wanted.budget, result_tokens=wanted.budget),
    }
    async with open_run_options(door, runtime, run, ask, ctx) as options:
        # A resumed run without new code runs the old code, which the runtime has kept.
        return await runtime.execute(
            wanted.code, **options, **{name: value for name, value in asked.items() if value is not None}
        )
