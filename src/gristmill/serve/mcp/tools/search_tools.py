"""``search_tools``: a question, and imports and signatures as the answer."""

from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from gristmill.serve.harmless_text import harmless
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.tools.tool_arguments import SearchArguments, checked
from gristmill.serve.mcp.who import Who

FIRST_LISTING_SECONDS = 20.0
"""How long the first search waits for servers whose tools nobody has listed yet."""
NOTHING = "nothing fits; try other words, or execute_code with `from tool_discovery import list_servers, list_tools`"


async def search_tools(door: Door, params: CallToolRequestParams, who: Who) -> CallToolResult:
    """Answer one call of the tool.

    Raises:
        NotFound: no such server.
        WrongArguments: they do not fit.
    """
    wanted = checked(SearchArguments, params.arguments)
    runtime = await door.hall()
    await runtime.settled(FIRST_LISTING_SECONDS)
    found = await runtime.search(
        wanted.query, detail_level=wanted.detail_level, limit=wanted.limit, server=wanted.server, caller=who.caller,
        tenant=who.tenant,
    )  # fmt: skip
    text = harmless(found.text) or NOTHING
    return CallToolResult(content=[TextContent(text=text)], structured_content={"text": text})
