"""Microsoft Agent Framework: ``python with_agent_framework.py SERVICE MODEL READ WRITE``. Its MCP client asks the user by elicitation."""

import asyncio
import json
import os
import sys

import httpx2
from agent_framework import Agent, MCPStreamableHTTPTool
from agent_framework.openai import OpenAIChatCompletionClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

service, model_url, read, write = sys.argv[1:]
headers = {"Authorization": f"Bearer {os.environ['GRISTMILL_TOKEN']}"}
shown = []


async def ask_user(context, params):
    """Shows the plan to the person, who approves all of it."""
    shown.append(params.message)
    return ElicitResult(action="accept", content={"approve": "all"})


async def main():
    model = OpenAIChatCompletionClient(model="scripted", base_url=model_url, api_key="none")
    http = httpx2.AsyncClient(headers=headers, timeout=60)
    transport = streamable_http_client(f"{service}/mcp", http_client=http)
    async with http, Client(transport, elicitation_callback=ask_user) as client:
        gristmill = MCPStreamableHTTPTool("gristmill", mcp_client=client, load_prompts=False)
        async with gristmill:
            agent = Agent(model, tools=[gristmill])
            answers = [(await agent.run(question)).text for question in (read, write)]
    print(json.dumps({"answers": answers, "shown": shown}))


asyncio.run(main())
