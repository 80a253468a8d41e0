"""The experimental tasks of 2025-11-25: asked for with the call, polled, fetched, cancelled, listed."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import ElicitResult, GetTaskRequestParams, PaginatedRequestParams, Request

from gristmill.model import Identity
from tests.e2e.mcp.conftest import connected, open_door
from tests.e2e.mcp.tasks_client import Anything

pytestmark = pytest.mark.anyio

RELATED = "io.modelcontextprotocol/related-task"


async def send(client: Client, method: str, params: Any) -> dict[str, Any]:
    return (await client.session.send_request(Request[Any, str](method=method, params=params), Anything)).fields


async def begin(client: Client, arguments: dict[str, Any], name: str = "execute_code") -> dict[str, Any]:
    """A call that asks for a task; raw, since the SDK's client knows no such answer."""
    params = {"name": name, "arguments": arguments, "task": {"ttl": 60_000}}
    dispatcher: Any = client.session._dispatcher  # pyright: ignore[reportPrivateUsage]
    return (await dispatcher.send_raw_request("tools/call", params))["task"]


async def ask(client: Client, method: str, task: str) -> dict[str, Any]:
    return await send(client, method, GetTaskRequestParams(task_id=task))


@pytest.mark.requirement("M8")
async def test_a_task_is_polled_and_its_result_is_that_of_the_call(state: Path) -> None:
    with anyio.fail_after(60):
        async with open_door(state) as door, connected(door, "legacy") as client:
            task = await begin(client, {"code": "print('hi')\n42"})
            result = await ask(client, "tasks/result", task["taskId"])
            after = await ask(client, "tasks/get", task["taskId"])
            listed = await send(client, "tasks/list", PaginatedRequestParams())

    assert task["status"] == "working"
    assert task["ttl"] >= 60_000
    assert isinstance(task["pollInterval"], int)
    assert result["structuredContent"]["result"] == 42
    assert not result["isError"]
    assert after["status"] == "completed"
    assert [each["taskId"] for each in listed["tasks"]] == [task["taskId"]]


async def test_a_program_that_fails_is_a_task_that_failed_with_its_result(state: Path) -> None:
    with anyio.fail_after(60):
        async with open_door(state) as door, connected(door, "legacy") as client:
            task = await begin(client, {"code": "1/0"})
            result = await ask(client, "tasks/result", task["taskId"])
            after = await ask(client, "tasks/get", task["taskId"])

    assert "ZeroDivisionError" in result["content"][0]["text"]
    assert after["status"] == "failed"


async def test_a_task_is_cancelled_once_and_has_no_result(state: Path) -> None:
    with anyio.fail_after(60):
        async with open_door(state) as door, connected(door, "legacy") as client:
            task = await begin(client, {"code": "while True: pass"})
            cancelled = await ask(client, "tasks/cancel", task["taskId"])
            with pytest.raises(MCPError) as again:
                await ask(client, "tasks/cancel", task["taskId"])
            with pytest.raises(MCPError):
                await ask(client, "tasks/result", task["taskId"])

    assert cancelled["status"] == "cancelled"
    assert again.value.error.code == -32602


@pytest.mark.parametrize(("said", "status"), [("all", "ok"), ("none", "failed")])
async def test_what_a_task_asks_is_put_while_its_result_is_waited_for(state: Path, said: str, status: str) -> None:
    shown: list[Any] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        shown.append(params)
        return ElicitResult(action="accept", content={"approve": said})

    code = {"code": "from servers.crm import get\nget(number=5)"}
    with anyio.fail_after(60):
        async with (
            open_door(state, policy={"ask": ("crm.get",)}) as door,
            connected(door, "legacy", elicitation_callback=person) as client,
        ):
            task = await begin(client, code)
            while (await ask(client, "tasks/get", task["taskId"]))["status"] != "input_required":
                pass
            result = await ask(client, "tasks/result", task["taskId"])

    assert "crm.get" in shown[0].message
    assert shown[0].meta[RELATED] == {"taskId": task["taskId"]}
    assert (result["structuredContent"]["status"] == "ok") == (status == "ok")


@pytest.mark.requirement("T46")
async def test_a_task_of_another_caller_is_not_there_and_not_listed(state: Path) -> None:
    callers = [Identity(caller="ann"), Identity(caller="bob")]

    def who(_ctx: Any) -> Identity:
        return callers[0]

    async with open_door(state, identify_caller=who) as door, connected(door, "legacy") as client:
        task = await begin(client, {"code": "1"})
        callers.pop(0)
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            with pytest.raises(MCPError) as caught:
                await ask(client, method, task["taskId"])
            assert caught.value.error.code == -32602
        assert (await send(client, "tasks/list", PaginatedRequestParams()))["tasks"] == []


async def test_wrong_arguments_and_tools_without_tasks_are_errors_at_once(state: Path) -> None:
    async with open_door(state) as door, connected(door, "legacy") as client:
        for name, arguments, code in (("execute_code", {}, -32602), ("search_tools", {"query": "x"}, -32601)):
            with pytest.raises(MCPError) as caught:
                await begin(client, arguments, name)
            assert caught.value.error.code == code


async def test_tasks_are_declared_to_clients_of_that_revision_and_marked_on_the_tool(state: Path) -> None:
    async with open_door(state) as door, connected(door, "legacy") as client:
        tasks: Any = client.server_capabilities.tasks
        tools = {tool.name: tool.execution for tool in (await client.list_tools()).tools}

    assert tasks.requests.tools.call is not None
    assert tasks.cancel is not None
    assert tools["search_tools"] is None
    assert tools["execute_code"]
    assert tools["execute_code"].task_support == "optional"
