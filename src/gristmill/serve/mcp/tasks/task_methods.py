"""Registers the task methods: the tasks extension for clients of the 2026 revision, the experimental tasks for older ones."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp_types import GetTaskRequestParams, PaginatedRequestParams

from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.questions.ask_client import Ctx, is_modern
from gristmill.serve.mcp.tasks.task_shape import EXTENSION
from gristmill.serve.mcp.tasks.tasks_2025 import Tasks2025, hide_tasks_from_older
from gristmill.serve.mcp.tasks.tasks_extension import TasksExtension, UpdateTaskParams

Method = Callable[[Ctx, GetTaskRequestParams], Awaitable[dict[str, Any]]]


def bind_tasks(server: Server[Any], door: McpDoor) -> None:
    """Adds the task methods of both eras to ``server``, and declares the extension."""
    tasks, older = TasksExtension(door), Tasks2025(door)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("tasks/get", GetTaskRequestParams, _choose_by_era(tasks.get, older.get))
    server.add_request_handler("tasks/cancel", GetTaskRequestParams, _choose_by_era(tasks.cancel, older.cancel))
    server.add_request_handler("tasks/update", UpdateTaskParams, tasks.update)
    server.add_request_handler("tasks/result", GetTaskRequestParams, older.result)
    server.add_request_handler("tasks/list", PaginatedRequestParams, older.list)
    server.middleware += [hide_tasks_from_older, older.answer_task_calls]


def _choose_by_era(modern: Method, older: Method) -> Method:
    async def answer(ctx: Ctx, params: GetTaskRequestParams) -> dict[str, Any]:
        return await (modern if is_modern(ctx) else older)(ctx, params)

    return answer
