"""The tools that the suite's scenarios about tasks ask for, run and handed out by our own door: runs, tasks, transport.

Only the work behind the tools is made up. ``python -m tests.conformance.tasks_fixture`` listens on a free port and says which.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import anyio
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequestFormParams,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from gristmill.config.sections.serve_section import ServeConfig
from gristmill.model import Outcome
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.served_runs import build_runs
from gristmill.runtime.runtime import Runtime
from gristmill.serve.mcp.answer_call import Answer, begin_run, continue_run
from gristmill.serve.mcp.door_runs import DoorRuns
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.serve.mcp.questions.ask_client import AskClient, Ctx
from gristmill.serve.mcp.tasks.tasks_extension import require_tasks
from gristmill.serve.mcp.transport.mcp_over_http import LOOPBACK
from tests.conformance.serve_at_address import serve_at_address
from tests.unit.serve.mcp.tools.test_outcome_result import OK

Job = Callable[[ActiveRun, AskClient | None, Mapping[str, Any]], Awaitable[Outcome]]
QUESTION = ElicitRequestFormParams(message="Sure?", requested_schema={"type": "object", "properties": {}})


async def slow_compute(_run: ActiveRun, _ask: AskClient | None, arguments: Mapping[str, Any]) -> Outcome:
    await anyio.sleep(float(arguments.get("seconds", 0)))
    return replace(OK, result="computed")


async def failing_job(run: ActiveRun, _ask: AskClient | None, _arguments: Mapping[str, Any]) -> Outcome:
    await _handed_out(run)
    return replace(OK, status="failed", success=False, error="it failed")


async def protocol_error_job(run: ActiveRun, _ask: AskClient | None, _arguments: Mapping[str, Any]) -> Outcome:
    await _handed_out(run)
    raise RuntimeError("a fault inside")


async def confirm_delete(run: ActiveRun, ask: AskClient | None, _arguments: Mapping[str, Any]) -> Outcome:
    await _handed_out(run)
    assert ask
    return replace(OK, result=(await ask(QUESTION)).action)


async def multi_input(run: ActiveRun, ask: AskClient | None, _arguments: Mapping[str, Any]) -> Outcome:
    await _handed_out(run)
    assert ask
    await asyncio.gather(ask(QUESTION), ask(QUESTION))
    return OK


async def tool_with_task(run: ActiveRun, ask: AskClient | None, _arguments: Mapping[str, Any]) -> Outcome:
    assert ask
    answer = await ask(QUESTION)
    await _handed_out(run)
    return replace(OK, result=str((answer.content or {}).get("name")))


JOBS: dict[str, Job] = {
    "slow_compute": slow_compute,
    "failing_job": failing_job,
    "protocol_error_job": protocol_error_job,
    "confirm_delete": confirm_delete,
    "multi_input": multi_input,
    "test_tool_with_task": tool_with_task,
}
NEEDS_TASKS = ("failing_job", "test_tool_with_task")
TOOLS = [Tool(name=name, input_schema={"type": "object"}) for name in ("greet", *JOBS)]


async def _handed_out(run: ActiveRun) -> None:
    while not run.is_task:
        await anyio.sleep(0.01)


async def nobody() -> Any:
    """There is no runtime behind these tools."""


async def main() -> None:
    served = build_runs(cast("Runtime", None), ServeConfig(), places=100, keeps_events=False)
    door = McpDoor(hall=nobody, instructions="", on_wire=True, task_after=0.0, runs=DoorRuns(served))
    server = build_server(door)

    async def list_tools(_ctx: Ctx, _params: PaginatedRequestParams) -> ListToolsResult:
        return ListToolsResult(tools=TOOLS)

    async def call_tool(ctx: Ctx, params: CallToolRequestParams) -> Answer:
        arguments = params.arguments or {}
        if params.name == "greet":
            return CallToolResult(content=[TextContent(text=f"Hello, {arguments.get('name')}!")])
        if params.name in NEEDS_TASKS:
            require_tasks(ctx)
        if params.request_state is not None:
            return await continue_run(door, ctx, params)
        return await begin_run(door, ctx, None, lambda run, ask, _: JOBS[params.name](run, ask, arguments))

    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    await serve_at_address(server, door, host="127.0.0.1", port=0, token=None, hosts=LOOPBACK)


if __name__ == "__main__":
    anyio.run(main)
