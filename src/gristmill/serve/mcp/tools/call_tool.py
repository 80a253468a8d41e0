"""``call_tool``: one call without a program, for clients that are configured to have it."""

from mcp_types import CallToolRequestParams

from gristmill.model import Outcome
from gristmill.serve.mcp.answer_call import Answer, begin, take_up
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.run_options import with_options
from gristmill.serve.mcp.tools.tool_arguments import CallArguments, checked


async def call_tool(door: Door, ctx: Ctx, params: CallToolRequestParams) -> Answer:
    """Answer one call of the tool.

    Raises:
        Error: a session that is not there, a runtime that could not be opened.
        WrongArguments: they do not fit.
    """
    if params.request_state is not None:
        return await take_up(door, ctx, params)
    wanted = checked(CallArguments, params.arguments)

    async def work(run: Run, ask: AskClient | None, ctx: Ctx | None) -> Outcome:
        runtime = await door.hall()
        async with with_options(door, runtime, run, ask, ctx) as options:
            return await runtime.call(wanted.tool, wanted.arguments, **options)

    return await begin(door, ctx, wanted.session, work)
