"""Which task method is answered by whom: the tasks extension on connections of 2026, the experimental tasks on those before."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp_types import GetTaskRequestParams, PaginatedRequestParams

from gristmill.serve.mcp.mcp_door import Door
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.tasks.task_shape import EXTENSION
from gristmill.serve.mcp.tasks.tasks_2025 import Tasks2025, tell_others_nothing
from gristmill.serve.mcp.tasks.tasks_extension import Tasks, UpdateTaskParams

Method = Callable[[Ctx, GetTaskRequestParams], Awaitable[dict[str, Any]]]


def bind_tasks(server: Server[Any], door: Door) -> None:
    """Serve the task methods of both eras, and declare the extension."""
    tasks, older = Tasks(door), Tasks2025(door)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tasks/get", GetTaskRequestParams, _by_era(tasks.get, older.get))
    server.add_request_handler("tasks/cancel", GetTaskRequestParams, _by_era(tasks.cancel, older.cancel))
    server.add_request_handler("tasks/update", UpdateTaskParams, tasks.update)
    server.add_request_handler("tasks/result", GetTaskRequestParams, older.result)
    server.add_request_handler("tasks/list", PaginatedRequestParams, older.list)
    server.middleware += [tell_others_nothing, older.take_calls]


def _by_era(modern: Method, older: Method) -> Method:
    async def answer(ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        return await (modern if is_modern(ctx) else older)(ctx, params)

    return answer
