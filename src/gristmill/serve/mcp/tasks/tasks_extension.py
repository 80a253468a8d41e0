"""The methods of the tasks extension (``io.modelcontextprotocol/tasks``): look at a run, answer what it asks, end it.

A task is a run that outlived its call; its id is the run's, so ``resume`` knows it too. It belongs to its caller and to this
process. Clients that do not declare the extension are never given one.
"""

import logging
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

from gristmill.errors import Error, NotFound
from gristmill.serve.harmless_text import harmless
from gristmill.serve.mcp.answer_call import requests_of, result_of
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.tasks.task_shape import EXTENSION, about, has_tasks, state_of
from gristmill.serve.mcp.tools.outcome_result import trouble

log = logging.getLogger(__name__)

FAULT = {"code": INTERNAL_ERROR, "message": "Internal server error"}
"""What a client learns of a fault of ours; the log has the rest."""

_ON_WIRE: dict[str, Any] = {"by_alias": True, "mode": "json", "exclude_none": True}


class UpdateTaskParams(GetTaskRequestParams):
    """Answers by the key of their question; what is no answer to an open one is ignored."""

    input_responses: dict[str, Any]


class Tasks:
    """The task methods over one door, on connections of 2026."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def get(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Where a task stands, with its question, its result or its error."""
        run = self._run(ctx, params)
        if run.questions:
            run.park()  # somebody is there who can answer
        return about(run) | await self._detail(ctx, run)

    async def update(self, ctx: Ctx, params: UpdateTaskParams) -> dict[str, Any]:
        """Take the answers to what a task asked."""
        self._run(ctx, params).answer(params.input_responses)
        return {}

    async def cancel(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """End a task; one that is over stays as it is."""
        self._run(ctx, params).task.cancel()
        return {}

    async def _detail(self, ctx: Ctx, run: Run) -> dict[str, Any]:
        match state_of(run):
            case "input_required":
                asked = requests_of(tuple(run.questions.values()))
                return {"inputRequests": {key: each.model_dump(**_ON_WIRE) for key, each in asked.items()}}
            case "completed":
                result = await settled(self._door, ctx, run)
                return {"result": result.model_dump(**_ON_WIRE)}
            case "failed":
                log.error("task %s failed", run.id, exc_info=run.task.exception())
                return {"error": FAULT, "statusMessage": FAULT["message"]}
            case _:
                return {}

    def _run(self, ctx: Ctx, params: GetTaskRequestParams) -> Run:
        if not is_modern(ctx):
            raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=ctx.method)
        require_tasks(ctx)
        headers: Any = getattr(ctx.request, "headers", None)
        if headers is not None and decode_header_value(headers.get(MCP_NAME_HEADER)) != params.task_id:
            raise MCPError(code=HEADER_MISMATCH, message=f"{MCP_NAME_HEADER} header does not match the task's id")
        return find(self._door, ctx, params.task_id)


def find(door: Door, ctx: Ctx, task: str) -> Run:
    """The caller's run of that id.

    Raises:
        MCPError: there is none.
    """
    try:
        return door.runs.get(task, door.who(ctx))
    except NotFound:
        text = f"no task {harmless(task[:100])!r} is under way or kept here"
        raise MCPError(code=INVALID_PARAMS, message=text) from None


async def settled(door: Door, ctx: Ctx, run: Run) -> CallToolResult:
    """The result of a run that is over, as its call would have brought it."""
    try:
        return await result_of(door, ctx, run, run.task.result())
    except Error as error:
        return trouble(error.message, code=error.code)


def require_tasks(ctx: Ctx) -> None:
    """Do nothing if the request declares the extension.

    Raises:
        MCPError: it does not.
    """
    if not has_tasks(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        raise MCPError(code=MISSING_REQUIRED_CLIENT_CAPABILITY, message="Missing required client capability", data=needed)
