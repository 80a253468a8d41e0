"""OpenAI's Agents SDK: ``python with_openai_agents.py SERVICE MODEL READ WRITE``. It asks before a program runs; the plan waits in the inbox."""

import asyncio
import json
import os
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from inbox import approve_waiting_plan
from openai import AsyncOpenAI

service, model_url, read, write = sys.argv[1:]
headers = {"Authorization": f"Bearer {os.environ['GRISTMILL_TOKEN']}"}
set_tracing_disabled(True)


async def answer(agent, question):
    """Runs the agent; its user sees each program before it runs, and agrees."""
    programs = []
    result = await Runner.run(agent, question)
    while result.interruptions:
        state = result.to_state()
        for item in result.interruptions:
            programs.append(json.loads(item.raw_item.arguments)["code"])
            state.approve(item)
        result = await Runner.run(agent, state)
    return result.final_output, programs


async def main():
    model = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=model_url, api_key="none"))
    gristmill = MCPServerStreamableHttp(
        {"url": f"{service}/mcp", "headers": headers},
        client_session_timeout_seconds=60,
        require_approval={"always": {"tool_names": ["execute_code"]}},
    )
    async with gristmill:
        agent = Agent("assistant", model=model, mcp_servers=[gristmill])
        first, programs = await answer(agent, read)
        waiting, _ = await answer(agent, write)
        calls, execution = approve_waiting_plan(service)
        done, _ = await answer(agent, f"<<<resume {execution}>>>")
    print(json.dumps({"answers": [first, done], "waiting": waiting, "calls": calls, "programs": programs}))


asyncio.run(main())
