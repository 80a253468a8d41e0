"""pydantic-ai's ``MCPToolset`` and a model that calls every tool: ``python with_pydantic_ai.py COMMAND ARGS...``."""

import asyncio
import json
import os
import sys

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

offered = []


def model(messages, info):
    """Calls execute_code once and says what came back."""
    offered[:] = [tool.name for tool in info.function_tools]
    for part in messages[-1].parts:
        if isinstance(part, ToolReturnPart):
            return ModelResponse(parts=[TextPart(json.dumps(part.content, default=str))])
    return ModelResponse(parts=[ToolCallPart("execute_code", {"code": "6 * 7"})])


async def main() -> None:
    transport = StdioTransport(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(transport, init_timeout=60)])
    result = await agent.run("what is six times seven?")
    print(json.dumps({"tools": offered, "text": result.output}))


asyncio.run(main())
