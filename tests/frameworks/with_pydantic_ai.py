"""pydantic-ai: ``python with_pydantic_ai.py SERVICE MODEL READ WRITE``. It asks its user by elicitation, in the middle of the call."""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

service, model_url, read, write = sys.argv[1:]
headers = {"Authorization": f"Bearer {os.environ['GRISTMILL_TOKEN']}"}
shown = []


async def ask_user(message, response_type, params, context):
    """Shows the plan to the person at the keyboard, who approves all of it."""
    shown.append(message)
    return {"approve": "all"}


async def main():
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=model_url, api_key="none"))
    # On connections of 2026-07-28 pydantic-ai answers no questions; the older handshake has them.
    gristmill = MCPToolset(
        Client(StreamableHttpTransport(f"{service}/mcp", headers=headers), mode="legacy", elicitation_handler=ask_user)
    )
    agent = Agent(model, toolsets=[gristmill])
    async with agent:
        answers = [(await agent.run(question)).output for question in (read, write)]
    print(json.dumps({"answers": answers, "shown": shown}))


asyncio.run(main())
