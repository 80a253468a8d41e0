"""The experimental tasks of 2025-11-25: a client asks for a task with its call, polls it, and fetches the result.

The SDK has the types and nothing else, and lets no task out as the answer to a call: calls that ask for one are answered here,
before it looks at them. What a task wants to know is asked while its client waits for the result, as that revision says.
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
from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import Ctx, ask_through
from gristmill.serve.mcp.run import Run
from gristmill.serve.mcp.tasks.task_shape import RELATED, about_2025, state_of
from gristmill.serve.mcp.tasks.tasks_extension import find, settled
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
    """The task methods over one door, on connections of 2025-11-25."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def take_calls(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """Middleware: a call that asks for a task gets one; every other message goes on."""
        asks = ctx.method == "tools/call" and ctx.protocol_version == REVISION and (ctx.params or {}).get("task") is not None
        if not asks or ctx.session.client_capabilities is None:  # before the handshake there are no calls
            return await call_next(ctx)
        params = CallToolRequestParams.model_validate(ctx.params, by_name=False)
        if params.name != EXECUTE:
            raise MCPError(code=METHOD_NOT_FOUND, message="this tool has no tasks: call it without one")
        try:
            run = await begin_task(self._door, ctx, params)
        except (WrongArguments, Error) as error:
            raise MCPError(code=INVALID_PARAMS, message=str(error)) from None
        return {"task": about_2025(run)}

    async def get(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Where a task stands."""
        return about_2025(self._run(ctx, params))

    async def cancel(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """End a task; one that is over cannot be."""
        run = self._run(ctx, params)
        if run.task.done():
            raise MCPError(code=INVALID_PARAMS, message="the task is over already")
        await run.end()
        return about_2025(run)

    async def list(self, ctx: Ctx, _params: PaginatedRequestParams) -> dict[str, Any]:
        """The tasks of this caller, the newest first: few enough for one page."""
        _require_2025(ctx)
        return {"tasks": [about_2025(run) for run in self._door.runs.of(self._door.who(ctx)) if run.is_task]}

    async def result(self, ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        """Wait for the end of a task, put its questions meanwhile, and answer as its call would have been."""
        run = self._run(ctx, params)
        related = {RELATED: {"taskId": run.id}}
        try:
            while not run.task.done():
                for question in (await run.look())[:1]:  # one after the other: there may be fewer when one is answered
                    run.answer({question.key: await ask_through(ctx, question.params, related)})
        finally:
            if run.questions:
                run.park()  # whoever waited has left: another may come
        if state_of(run) != "completed":
            raise MCPError(code=INTERNAL_ERROR, message=f"the task is {state_of(run)}")
        result = await settled(self._door, ctx, run)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True) | {"_meta": related}

    def _run(self, ctx: Ctx, params: GetTaskRequestParams) -> Run:
        _require_2025(ctx)
        return find(self._door, ctx, params.task_id)


async def tell_others_nothing(ctx: Ctx, call_next: CallNext) -> HandlerResult:
    """Middleware: tasks are declared to clients of 2025-11-25, not to older ones."""
    answer: Any = await call_next(ctx)
    if ctx.method == "initialize" and answer["protocolVersion"] != REVISION:
        answer["capabilities"].pop("tasks", None)
    return answer


def _require_2025(ctx: Ctx) -> None:
    if ctx.protocol_version != REVISION:
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=ctx.method)
