"""The tasks extension for the SDK's client, which does not ship it: a call that becomes a task is followed to its end."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from mcp import ClientSession
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import CallToolResult, ElicitRequest, GetTaskRequestParams, Request, Result
from pydantic import ConfigDict

EXTENSION = "io.modelcontextprotocol/tasks"
Person = Callable[[str], Awaitable[dict[str, Any]]]


class Handle(Result):
    """What a call returns when it has become a task."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"] = "task"
    task_id: str


class Anything(Result):
    """Whatever the methods of the extension answer."""

    model_config = ConfigDict(extra="allow")

    @property
    def fields(self) -> dict[str, Any]:
        """As it came."""
        return self.model_extra or {}


class Update(GetTaskRequestParams):
    """Parameters of ``tasks/update``."""

    input_responses: dict[str, Any]


class Ask(Request[Any, str]):
    """A request of the extension; over HTTP the task's id is a header too."""

    name_param = "taskId"


async def get(session: ClientSession, task: str) -> dict[str, Any]:
    """``tasks/get``."""
    return await _send(session, "tasks/get", GetTaskRequestParams(task_id=task))


async def cancel(session: ClientSession, task: str) -> dict[str, Any]:
    """``tasks/cancel``."""
    return await _send(session, "tasks/cancel", GetTaskRequestParams(task_id=task))


async def update(session: ClientSession, task: str, responses: dict[str, Any]) -> dict[str, Any]:
    """``tasks/update``."""
    return await _send(session, "tasks/update", Update(task_id=task, input_responses=responses))


async def until(session: ClientSession, task: str, *states: str) -> dict[str, Any]:
    """Ask until the task is in one of the states."""
    while (found := await get(session, task))["status"] not in states:
        pass
    return found


async def _send(session: ClientSession, method: str, params: Any) -> dict[str, Any]:
    return (await session.send_request(Ask(method=method, params=params), Anything)).fields


class Tasks(ClientExtension):
    """Follows a task to its end; ``person`` answers what it asks."""

    identifier = EXTENSION

    def __init__(self, person: Person | None = None) -> None:
        self.seen: list[str] = []
        self._person = person

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=Handle, resolve=self._follow),)

    async def _follow(self, handle: Handle, context: ClaimContext) -> CallToolResult:
        self.seen.append(handle.task_id)
        while (task := await until(context.session, handle.task_id, "input_required", "completed"))["status"] != "completed":
            assert self._person
            asked = {key: ElicitRequest.model_validate(each) for key, each in task["inputRequests"].items()}
            answers = {key: await self._person(each.params.message) for key, each in asked.items()}
            await update(context.session, handle.task_id, answers)
        return CallToolResult.model_validate(task["result"])
