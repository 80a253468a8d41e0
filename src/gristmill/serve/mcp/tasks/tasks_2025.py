"""The experimental tasks of 2025-11-25: a client asks for a task with its call, polls it, and fetches the result.

The SDK has only the types, and does not allow a task as the answer to a call: calls that ask for one are answered here, before
the SDK handles them. Questions of a task are asked while its client waits for the result, as that revision requires.
"""

from typing import Any

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolRequestParams,
    GetTaskRequestParams,
    PaginatedRequestParams,
    ServerTasksCapability,
    ServerTasksRequestsCapability,
    TasksCallCapability,
    TasksCancelCapability,
    TasksListCapability,
    TasksToolsCapability,
)

from gristmill.errors import Error
from gristmill.runs.active_run import ActiveRun
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import Ctx, ask_directly
from gristmill.serve.mcp.questions.take_answers import take_answers
from gristmill.serve.mcp.tasks.task_shape import RELATED, describe_task_2025, read_state
from gristmill.serve.mcp.tasks.tasks_extension import build_task_result, find_task
from gristmill.serve.mcp.tools.execute_code import begin_task
from gristmill.serve.mcp.tools.tool_arguments import WrongArguments
from gristmill.serve.mcp.tools.tool_surface import EXECUTE

CAPABILITY = ServerTasksCapability(
    list=TasksListCapability(),
    cancel=TasksCancelCapability(),
    requests=ServerTasksRequestsCapability(tools=TasksToolsCapability(call=TasksCallCapability())),
)
REVISION = "2025-11-25"


class Tasks2025:
    """The task methods of one door, for clients of 2025-11-25."""

    def __init__(self, door: McpDoor) -> None:
        self._door = door

    async def answer_task_calls(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """Answers calls that ask for a task with one, as middleware; passes on every other message."""
        asks = ctx.method == "tools/call" and ctx.protocol_version == REVISION and (ctx.params or {}).get("task") is not None
        if not asks or ctx.session.client_capabilities is None:  # the handshake has not ended: the next handler refuses the call
            return await call_next(ctx)
        params = CallToolRequestParams.model_validate(ctx.params, by_name=False)
        if params.name != EXECUTE:
            raise MCPError(code=METHOD_NOT_FOUND, message="this tool does not support tasks: call it without one")
        try:
            run = await begin_task(self._door, ctx, params)
        except (WrongArguments, Error) as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
        return {"task": describe_task_2025(run)}

    async def get(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Returns the state of a task."""
        return describe_task_2025(await self._find_run(ctx, params))

    async def cancel(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Cancels a task; refuses if it has ended already."""
        run = await self._find_run(ctx, params)
        if run.ended is not None:
            raise MCPError(code=INVALID_PARAMS, message="the task has ended already")
        await run.end()
        return describe_task_2025(run)

    async def list(self, ctx: Ctx, _params: PaginatedRequestParams) -> dict[str, Any]:
        """Lists the tasks of this caller, the newest first, on one page: their number is limited."""
        _require_2025(ctx)
        kept = (await self._door.get_runs()).registry.list_kept(self._door.identify_caller(ctx))
        return {"tasks": [describe_task_2025(run) for run in kept if run.is_task]}

    async def result(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Waits for the end of a task, asks its questions meanwhile, and answers as the call itself would have."""
        run = await self._find_run(ctx, params)
        related = {RELATED: {"taskId": run.id}}
        try:
            while run.ended is None:
                for question in (await run.wait_for_questions())[:1]:  # one at a time: after an answer the others may be gone
                    take_answers(run, {question.key: await ask_directly(ctx, question.params, related)})
        finally:
            if run.questions:
                run.start_answer_timer()  # the waiting client has disconnected; another request may answer
        if read_state(run) != "completed":
            raise MCPError(code=INTERNAL_ERROR, message=f"the task is {read_state(run)}")
        result = await build_task_result(self._door, ctx, run)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True) | {"_meta": related}

    async def _find_run(self, ctx: Ctx, params: GetTaskRequestParams) -> ActiveRun:
        _require_2025(ctx)
        return await find_task(self._door, ctx, params.task_id)


async def hide_tasks_from_older(ctx: Ctx, call_next: CallNext) -> HandlerResult:
    """Removes tasks from the capabilities for clients older than 2025-11-25, as middleware."""
    answer: Any = await call_next(ctx)
    if ctx.method == "initialize" and answer["protocolVersion"] != REVISION:
        answer["capabilities"].pop("tasks", None)
    return answer


def _require_2025(ctx: Ctx) -> None:
    if ctx.protocol_version != REVISION:
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=ctx.method)
