"""LlamaIndex: ``python with_llamaindex.py SERVICE MODEL READ WRITE``. It cannot ask in the middle of a call: the plan waits in the inbox."""

import asyncio
import json
import os
import sys

from inbox import approve_waiting_plan
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

service, model_url, read, write = sys.argv[1:]
headers = {"Authorization": f"Bearer {os.environ['GRISTMILL_TOKEN']}"}


async def main():
    model = OpenAILike("scripted", api_base=model_url, api_key="none", is_chat_model=True, is_function_calling_model=True)
    tools = await McpToolSpec(BasicMCPClient(f"{service}/mcp", headers=headers)).to_tool_list_async()
    agent = FunctionAgent(tools=tools, llm=model)
    first = str(await agent.run(read))
    waiting = str(await agent.run(write))
    calls, execution = approve_waiting_plan(service)
    done = str(await agent.run(f"<<<resume {execution}>>>"))
    print(json.dumps({"answers": [first, done], "waiting": waiting, "calls": calls}))


asyncio.run(main())
