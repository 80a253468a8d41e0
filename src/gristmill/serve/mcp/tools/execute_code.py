"""``execute_code``: a program, or the id of a run to take up again."""

from typing import Any

from mcp_types import CallToolRequestParams

from gristmill.errors import NotFound
from gristmill.model import Budget, Outcome
from gristmill.serve.mcp.answer_call import Answer, begin, conclude, prepare, take_up
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx, can_answer
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.run_options import with_options
from gristmill.serve.mcp.tools.tool_arguments import ExecuteArguments, WrongArguments, checked

WAIT_SECONDS = 50.0
"""How long ``resume`` waits before it says "still running": below the minute that many clients give a tool."""


async def execute_code(door: Door, ctx: Ctx, params: CallToolRequestParams) -> Answer:
    """Answer one call of the tool.

    Raises:
        Error: a session or a run that is not there, a runtime that could not be opened.
        WrongArguments: they do not fit.
    """
    if params.request_state is not None:
        return await take_up(door, ctx, params)
    wanted = checked(ExecuteArguments, params.arguments)
    if (run := _under_way(door, ctx, wanted)) is not None:
        return await conclude(door, ctx, run, seconds=WAIT_SECONDS)

    async def work(run: Run, ask: AskClient | None, ctx: Ctx | None) -> Outcome:
        return await _execute(door, wanted, run, ask, ctx)

    return await begin(door, ctx, wanted.session, work, background=wanted.background)


async def begin_task(door: Door, ctx: Ctx, params: CallToolRequestParams) -> Run:
    """Start what one call of the tool asks for, as a task: nobody waits for it here.

    Raises:
        Error: a session that is not there, too many runs, a runtime that could not be opened.
        WrongArguments: they do not fit.
    """
    wanted = checked(ExecuteArguments, params.arguments)
    run, is_new = _under_way(door, ctx, wanted), False
    if run is None:
        run, is_new = await prepare(door, ctx, wanted.session), True
    run.is_task = True
    if is_new:
        asks = can_answer(ctx)
        door.runs.start(run, lambda run: _execute(door, wanted, run, run.ask if asks else None, ctx))
    return run


def _under_way(door: Door, ctx: Ctx, wanted: ExecuteArguments) -> Run | None:
    """The run that is to be waited for, if that is all that is wanted."""
    if wanted.code is not None:
        return None
    if wanted.resume is None:
        raise WrongArguments("wrong arguments: code is needed, or resume with the id of a run")
    try:
        return door.runs.get(wanted.resume, door.who(ctx))
    except NotFound:
        return None  # not under way here: the journal knows it, or says that it does not


async def _execute(door: Door, wanted: ExecuteArguments, run: Run, ask: AskClient | None, ctx: Ctx | None) -> Outcome:
    runtime = await door.hall()
    asked: dict[str, Any] = {
        "limits": {"seconds": wanted.timeout} if wanted.timeout else None,
        "context": wanted.context,
        "resume": wanted.resume,
        "budget": wanted.budget and Budget(output_tokens=wanted.budget, result_tokens=wanted.budget),
    }
    async with with_options(door, runtime, run, ask, ctx) as options:
        # A resumed run without new code runs the old: the runtime has it.
        return await runtime.execute(
            wanted.code, **options, **{name: value for name, value in asked.items() if value is not None}
        )
