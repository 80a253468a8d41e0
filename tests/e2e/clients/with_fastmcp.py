"""FastMCP's client: ``python with_fastmcp.py COMMAND ARGS...``; prints what it saw. Runs in an environment of its own."""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main() -> None:
    transport = StdioTransport(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(transport) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("execute_code", {"code": 'print("hi")\n6 * 7'})
        print(json.dumps({"tools": tools, "result": result.structured_content["result"], "text": result.content[0].text}))


asyncio.run(main())
