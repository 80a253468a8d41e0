"""LangChain's ``MCPAdapter``: ``python with_langchain.py COMMAND ARGS...``; its tools are listed and one is invoked."""

import asyncio
import json
import os
import sys
import warnings

warnings.simplefilter("ignore")  # langchain.mcp says that it is in beta

from fastmcp.client.transports import StdioTransport  # noqa: E402
from langchain.mcp import MCPAdapter  # noqa: E402


async def main() -> None:
    adapter = MCPAdapter(StdioTransport(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ)))
    async with adapter.client:
        tools = {tool.name: tool for tool in await adapter.list_tools()}
        answer = await tools["execute_code"].ainvoke({"code": "6 * 7"})
    print(json.dumps({"tools": list(tools), "text": str(answer)}))


asyncio.run(main())
