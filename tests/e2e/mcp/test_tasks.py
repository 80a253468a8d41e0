"""The tasks extension: a run that takes long becomes a task, for clients that have tasks and for nobody else."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError
from mcp_types import GetTaskRequestParams, Request, RequestParams

from gristmill.config.tree import Config
from gristmill.model import Identity, Outcome
from gristmill.serve.mcp.mcp_door import McpDoor
from tests.e2e.mcp.conftest import connected, open_door, text
from tests.e2e.mcp.tasks_client import EXTENSION, Anything, Ask, Handle, Tasks, cancel, get, until, update
from tests.e2e.mcp.test_questions import Asking

pytestmark = pytest.mark.anyio

MODERN = "2026-07-28"
ENDLESS = {"code": "while True: pass"}


@asynccontextmanager
async def client_with_tasks(door: McpDoor, **options: Any) -> AsyncGenerator[Client]:
    with anyio.fail_after(60):
        async with connected(door, MODERN, extensions=[Tasks(**options)]) as client:
            yield client


async def begin(client: Client, arguments: dict[str, Any]) -> Handle:
    """A call that becomes a task."""
    found: Any = await client.session.call_tool("execute_code", arguments, allow_claimed=True)
    assert isinstance(found, Handle), found
    return found


@pytest.mark.requirement("M8")
async def test_a_client_with_the_extension_gets_the_same_result_from_a_task(state: Path) -> None:
    tasks = Tasks()
    async with open_door(state, task_after=0.0) as door, connected(door, MODERN, extensions=[tasks]) as client:
        result = await client.call_tool("execute_code", {"code": "print('hi')\n{'a': [1, 2]}"})

    assert text(result) == 'ok\nresult: {"a":[1,2]}\noutput:\nhi'
    assert len(tasks.seen) == 1


async def test_a_program_that_is_done_soon_is_answered_at_once(state: Path) -> None:
    async with open_door(state, task_after=60.0) as door, client_with_tasks(door) as client:
        found: Any = await client.session.call_tool("execute_code", {"code": "6 * 7"}, allow_claimed=True)

    assert found.structured_content["result"] == 42


@pytest.mark.requirement("M8")
async def test_a_client_without_the_extension_is_never_given_a_task(state: Path) -> None:
    async with open_door(state, task_after=0.0) as door, connected(door, MODERN) as client:
        result = await client.call_tool("execute_code", {"code": "6 * 7"})
        with pytest.raises(MCPError) as caught:
            await get(client.session, "whatever")

    assert text(result) == "ok\nresult: 42"
    assert caught.value.error.code == -32021
    assert caught.value.error.data == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


async def test_the_extension_is_declared_where_it_works_and_not_to_older_clients(state: Path) -> None:
    async with open_door(state) as door:
        async with connected(door, MODERN) as client:
            modern = (await client.session.send_discover(MODERN))["capabilities"]
        async with connected(door, "legacy") as client:
            legacy: Any = client.server_capabilities

    assert modern["extensions"] == {EXTENSION: {}}
    assert legacy.extensions is None


async def test_a_task_says_what_it_is_and_how_long_it_is_kept(state: Path) -> None:
    async with open_door(state, task_after=0.0) as door, client_with_tasks(door) as client:
        handle = await begin(client, ENDLESS)
        task = await get(client.session, handle.task_id)
        await cancel(client.session, handle.task_id)

    created = handle.model_dump(by_alias=True, mode="json")
    assert (created["status"], task["status"]) == ("working", "working")
    assert datetime.fromisoformat(task["createdAt"]) <= datetime.fromisoformat(task["lastUpdatedAt"])
    assert task["ttlMs"] >= 900_000
    assert isinstance(task["pollIntervalMs"], int)
    assert not task.keys() & {"result", "error", "inputRequests", "requestState"}


async def test_a_program_that_fails_is_a_task_that_completed_with_an_error(state: Path) -> None:
    async with open_door(state, task_after=0.0) as door, client_with_tasks(door) as client:
        task = await until(client.session, (await begin(client, {"code": "1/0"})).task_id, "completed", "failed")

    assert task["status"] == "completed"
    assert task["result"]["isError"]
    assert "ZeroDivisionError" in task["result"]["content"][0]["text"]


async def test_a_fault_of_ours_is_a_task_that_failed_and_says_nothing_of_what_is_inside(state: Path) -> None:
    class Broken:
        can_ask = False
        config = Config()

        async def execute(self, *_: Any, **__: Any) -> None:
            await handed_out.wait()
            raise RuntimeError("a secret of ours")

    async def hall() -> Any:
        return Broken()

    handed_out = anyio.Event()
    async with open_door(state, hall=hall, task_after=0.0) as door, client_with_tasks(door) as client:
        handle = await begin(client, {"code": "1"})
        handed_out.set()
        task = await until(client.session, handle.task_id, "completed", "failed")

    assert task["status"] == "failed"
    assert task["error"]["code"] == -32603
    assert "secret" not in str(task)


async def test_cancelling_a_task_stops_its_run_and_a_second_time_does_nothing(state: Path) -> None:
    async with open_door(state, task_after=0.0) as door, client_with_tasks(door) as client:
        handle = await begin(client, ENDLESS)
        acknowledged = await cancel(client.session, handle.task_id)
        task = await until(client.session, handle.task_id, "cancelled", "completed")
        again = await cancel(client.session, handle.task_id)
        after = await client.call_tool("execute_code", {"code": "1"})

    assert not acknowledged.keys() & {"taskId", "status"}
    assert (task["status"], again) == ("cancelled", acknowledged)
    assert not after.is_error


@pytest.mark.parametrize(("said", "status"), [("all", "ok"), ("none", "failed")])
async def test_a_task_asks_for_approval_and_goes_on_with_the_answer(state: Path, said: str, status: str) -> None:
    shown: list[str] = []

    async def person(message: str) -> dict[str, Any]:
        shown.append(message)
        return {"action": "accept", "content": {"approve": said}}

    async def nobody(*_: Any) -> Any:
        raise AssertionError("a task asks in its own way")

    code = {"code": "from servers.crm import get\nget(number=5)"}
    async with (
        open_door(state, policy={"ask": ("crm.get",)}, task_after=0.0) as door,
        connected(door, MODERN, extensions=[Tasks(person)], elicitation_callback=nobody) as client,
    ):
        result: Any = await client.call_tool("execute_code", code)

    assert "crm.get" in shown[0]
    assert (result.structured_content["status"] == "ok") == (status == "ok"), result.structured_content


async def test_answers_to_no_open_question_are_ignored_and_a_wrong_kind_of_answer_is_a_no(state: Path) -> None:
    class Later(Asking):
        async def execute(self, code: str, **options: Any) -> Outcome:
            await handed_out.wait()
            return await super().execute(code, **options)

    async def hall() -> Any:
        return Later()

    async def nobody(*_: Any) -> Any:
        raise AssertionError

    handed_out = anyio.Event()
    async with (
        open_door(state, hall=hall, task_after=0.0) as door,
        connected(door, MODERN, extensions=[Tasks()], elicitation_callback=nobody) as client,
    ):
        handle = await begin(client, {"code": "x"})
        handed_out.set()
        waiting = await until(client.session, handle.task_id, "input_required")
        await update(client.session, handle.task_id, {"nobody's": {"ignored": True}})
        still = await get(client.session, handle.task_id)
        await update(client.session, handle.task_id, {next(iter(waiting["inputRequests"])): {"perhaps": True}})
        done = await until(client.session, handle.task_id, "completed")

    assert still["inputRequests"] == waiting["inputRequests"]
    assert done["result"]["structuredContent"]["result"] == "none"


@pytest.mark.requirement("T46")
@pytest.mark.requirement("M8")
async def test_a_task_is_not_there_for_another_caller(state: Path) -> None:
    callers = [Identity(caller="ann"), Identity(caller="bob"), Identity(tenant="another", caller="ann"), Identity(caller="ann")]

    def who(_ctx: Any) -> Identity:
        return callers[0]

    async with open_door(state, task_after=0.0, identify_caller=who) as door, client_with_tasks(door) as client:
        handle = await begin(client, ENDLESS)
        codes: list[int | str] = []
        for _ in range(3):
            callers.pop(0)
            for ask in (get, cancel):
                try:
                    codes.append((await ask(client.session, handle.task_id)).get("status", "ack"))
                except MCPError as error:
                    codes.append(error.error.code)

    assert codes == [-32602, -32602, -32602, -32602, "working", "ack"]


async def test_a_task_can_be_resumed_by_its_id_like_any_run(state: Path) -> None:
    async with open_door(state, task_after=0.0) as door, client_with_tasks(door) as client:
        handle = await begin(client, {"code": "7"})
        await until(client.session, handle.task_id, "completed")
        result = await client.call_tool("execute_code", {"resume": handle.task_id})

    assert text(result) == "ok\nresult: 7"


async def test_a_run_in_the_background_is_an_id_for_the_model_even_where_the_client_has_tasks(state: Path) -> None:
    async with open_door(state, task_after=0.0) as door, client_with_tasks(door) as client:
        started: Any = await client.session.call_tool("execute_code", {"code": "7", "background": True}, allow_claimed=True)

    assert started.structured_content["status"] == "running"


async def test_a_task_tells_what_it_prints_and_sends_no_progress(state: Path) -> None:
    heard: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message or "")

    code = {"code": "print('begun')\nwhile True: pass"}
    async with open_door(state, task_after=0.0) as door, client_with_tasks(door) as client:
        found: Any = await client.session.call_tool("execute_code", code, allow_claimed=True, progress_callback=hear)
        while "begun" not in (await get(client.session, found.task_id)).get("statusMessage", ""):
            pass
        await cancel(client.session, found.task_id)

    assert heard == []


@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
async def test_methods_that_the_extension_has_not_are_not_there(state: Path, method: str) -> None:
    async with open_door(state) as door, client_with_tasks(door) as client:
        with pytest.raises(MCPError) as caught:
            await client.session.send_request(Ask(method=method, params=GetTaskRequestParams(task_id="x")), Anything)

    assert caught.value.error.code == -32601


async def test_only_clients_with_the_extension_may_ask_to_follow_tasks(state: Path) -> None:
    class Listen(RequestParams):
        notifications: dict[str, Any]

    wanted = Request[Listen, str](method="subscriptions/listen", params=Listen(notifications={"taskIds": ["x"]}))
    async with open_door(state) as door, connected(door, MODERN) as client:
        with anyio.fail_after(30), pytest.raises(MCPError) as caught:
            await client.session.send_request(wanted, Anything)

    assert caught.value.error.code == -32021
