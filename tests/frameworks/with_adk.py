"""Google's ADK: ``python with_adk.py SERVICE MODEL READ WRITE``. It asks its user by elicitation; it can also run code blocks with us."""

import asyncio
import json
import os
import sys

from google.adk.agents import LlmAgent
from google.adk.code_executors import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionResult
from google.adk.models.lite_llm import LiteLlm
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai import types
from inbox import request
from mcp.types import ElicitResult

service, model_url, read, write = sys.argv[1:]
headers = {"Authorization": f"Bearer {os.environ['GRISTMILL_TOKEN']}"}
shown = []


async def ask_user(context, params):
    """Shows the plan to the person, who approves all of it."""
    shown.append(params.message)
    return ElicitResult(action="accept", content={"approve": "all"})


class GristmillCodeExecutor(BaseCodeExecutor):
    """Runs the code blocks that a model writes, in our sandbox, with our tools."""

    service: str

    def execute_code(self, invocation_context, code_execution_input):
        """Runs one code block in the session of the conversation."""
        session = f"adk-{invocation_context.session.id}"
        done = request(f"{self.service}/execute", {"code": code_execution_input.code, "session": session})
        result = "" if done.get("result") is None else json.dumps(done["result"])
        return CodeExecutionResult(stdout=done.get("output", "") + result, stderr=done.get("error") or "")


async def ask(agent, question):
    """Returns the last text that an agent says."""
    runner = InMemoryRunner(agent, app_name="travel")
    session = await runner.session_service.create_session(app_name="travel", user_id="ann")
    said = []
    message = types.Content(role="user", parts=[types.Part(text=question)])
    async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=message):
        said += [part.text for part in (event.content.parts if event.content else []) or [] if part.text]
    await runner.close()
    return said[-1]


async def main():
    model = LiteLlm("openai/scripted", api_base=model_url, api_key="none")
    gristmill = McpToolset(
        connection_params=StreamableHTTPConnectionParams(url=f"{service}/mcp", headers=headers, timeout=60),
        elicitation_callback=ask_user,
    )
    agent = LlmAgent(name="assistant", model=model, tools=[gristmill])
    answers = [await ask(agent, question) for question in (read, write)]
    coder = LlmAgent(name="coder", model=model, code_executor=GristmillCodeExecutor(service=service))
    block = await ask(coder, read.replace("<<<run", "<<<block"))
    print(json.dumps({"answers": answers, "shown": shown, "block": block}))


asyncio.run(main())
