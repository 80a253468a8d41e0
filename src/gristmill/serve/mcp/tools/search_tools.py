"""Answers ``search_tools``: finds tools for a question and returns their imports and signatures."""

from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from gristmill.harmless_text import neutralize_text
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.tools.tool_arguments import SearchArguments, check_arguments

NOTHING_FOUND = "nothing fits; try other words, or execute_code with `from tool_discovery import list_servers, list_tools`"


async def search_tools(door: McpDoor, ctx: Ctx, params: CallToolRequestParams) -> CallToolResult:
    """Answers one call of the tool; tools that this connection has seen are named, unless a level of detail is asked for.

    Raises:
        NotFound: there is no such server.
        WrongArguments: the arguments are not valid.
    """
    wanted = check_arguments(SearchArguments, params.arguments)
    runtime, who = await door.hall(), door.identify_caller(ctx)
    found = await runtime.search(
        wanted.query, detail_level=wanted.detail_level, limit=wanted.limit, server=wanted.server, identity=who,
        conversation=door.conversations.name(who), shown=door.shown_tools.list_shown(ctx),
    )  # fmt: skip
    door.shown_tools.note_shown(ctx, found.written)
    text = neutralize_text(found.text) or NOTHING_FOUND
    return CallToolResult(content=[TextContent(text=text)], structured_content={"text": text})
