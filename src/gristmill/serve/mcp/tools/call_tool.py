"""Answers ``call_tool``: one tool call without a program, offered with ``serve.direct_calls`` only."""

from mcp_types import CallToolRequestParams

from gristmill.model import Outcome
from gristmill.runs.active_run import ActiveRun
from gristmill.serve.mcp.answer_call import Answer, begin_run, continue_run
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx
from gristmill.serve.mcp.run_options import open_run_options
from gristmill.serve.mcp.tools.tool_arguments import CallArguments, check_arguments


async def call_tool(door: McpDoor, ctx: Ctx, params: CallToolRequestParams) -> Answer:
    """Answers one call of the tool.

    Raises:
        Error: there is no such session, or the runtime could not be opened.
        WrongArguments: the arguments are not valid.
    """
    if params.request_state is not None:
        return await continue_run(door, ctx, params)
    wanted = check_arguments(CallArguments, params.arguments)

    async def work(run: ActiveRun, ask: AskClient | None, ctx: Ctx | None) -> Outcome:
        runtime = await door.hall()
        async with open_run_options(door, runtime, run, ask, ctx) as options:
            return await runtime.call(wanted.tool, wanted.arguments, **options)

    return await begin_run(door, ctx, wanted.session, work)
