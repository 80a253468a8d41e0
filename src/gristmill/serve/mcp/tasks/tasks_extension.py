"""The methods of the tasks extension (``io.modelcontextprotocol/tasks``): get a run, answer its questions, cancel it.

A task is a run that outlives its call; it has the id of the run, so ``resume`` accepts it too. It belongs to its caller and to
this process. Clients that do not declare the extension never get a task.
"""

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CallToolResult,
    GetTaskRequestParams,
)

from gristmill.errors import Error
from gristmill.harmless_text import neutralize_text
from gristmill.runs.active_run import ActiveRun
from gristmill.serve.mcp.answer_call import build_end_result, build_input_requests, find_run
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.questions.take_answers import take_answers
from gristmill.serve.mcp.tasks.task_shape import EXTENSION, accepts_tasks, describe_task, read_state
from gristmill.serve.mcp.tools.outcome_result import build_error_result

INTERNAL_FAULT = {"code": INTERNAL_ERROR, "message": "Internal server error"}
"""What a client is told about an internal fault; the log has the details."""

_DUMP_OPTIONS: dict[str, Any] = {"by_alias": True, "mode": "json", "exclude_none": True}


class UpdateTaskParams(GetTaskRequestParams):
    """Answers by the key of their question; answers to questions that are not open are ignored."""

    input_responses: dict[str, Any]


class TasksExtension:
    """The task methods of one door, for clients of the 2026 revision."""

    def __init__(self, door: McpDoor) -> None:
        self._door = door

    async def get(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Returns the state of a task with its questions, its result or its error."""
        run = await self._find_run(ctx, params)
        if run.questions:
            run.start_answer_timer()  # a client is there that can answer: the wait for an answer starts again
        return describe_task(run) | await self._build_details(ctx, run)

    async def update(self, ctx: Ctx, params: UpdateTaskParams) -> dict[str, Any]:
        """Takes the answers to the questions of a task."""
        take_answers(await self._find_run(ctx, params), params.input_responses)
        return {}

    async def cancel(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Cancels a task; one that has ended stays as it is."""
        (await self._find_run(ctx, params)).cancel()
        return {}

    async def _build_details(self, ctx: Ctx, run: ActiveRun) -> dict[str, Any]:
        match read_state(run):
            case "input_required":
                asked = build_input_requests(run.questions.list())
                return {"inputRequests": {key: each.model_dump(**_DUMP_OPTIONS) for key, each in asked.items()}}
            case "completed":
                result = await build_task_result(self._door, ctx, run)
                return {"result": result.model_dump(**_DUMP_OPTIONS)}
            case "failed":
                return {"error": INTERNAL_FAULT, "statusMessage": INTERNAL_FAULT["message"]}
            case _:
                return {}

    async def _find_run(self, ctx: Ctx, params: GetTaskRequestParams) -> ActiveRun:
        if not is_modern(ctx):
            raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=ctx.method)
        require_tasks(ctx)
        headers: Any = getattr(ctx.request, "headers", None)
        if headers is not None and decode_header_value(headers.get(MCP_NAME_HEADER)) != params.task_id:
            raise MCPError(code=HEADER_MISMATCH, message=f"{MCP_NAME_HEADER} header does not match the task's id")
        return await find_task(self._door, ctx, params.task_id)


async def find_task(door: McpDoor, ctx: Ctx, task: str) -> ActiveRun:
    """Returns the caller's run with that id.

    Raises:
        MCPError: the caller has no such run.
    """
    try:
        return await find_run(door, ctx, task)
    except Error:
        text = f"no task {neutralize_text(task[:100])!r} is active or kept here"
        raise MCPError(code=INVALID_PARAMS, message=text) from None


async def build_task_result(door: McpDoor, ctx: Ctx, run: ActiveRun) -> CallToolResult:
    """Returns the result of a run that has ended, as its call would have returned it."""
    try:
        return await build_end_result(door, ctx, run)
    except Error as error:
        return build_error_result(error.message, code=error.code)


def require_tasks(ctx: Ctx) -> None:
    """Requires that the request declares the extension.

    Raises:
        MCPError: it does not.
    """
    if not accepts_tasks(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message="Missing required client capability", data=needed)
