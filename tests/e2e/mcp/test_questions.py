"""Approvals: the person behind the client is shown the plan, in the way of each era."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import ElicitRequestFormParams, ElicitResult

from gristmill.config.tree import Config
from gristmill.model import Outcome
from tests.e2e.mcp.conftest import MODES, Mode, connected, open_door, text
from tests.unit.serve.mcp.tools.test_outcome_result import OK, PLAN

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


class Asking:
    """A runtime whose every run wants approval."""

    can_ask = False
    config = Config()

    def __init__(self) -> None:
        self.cancelled = anyio.Event()

    async def execute(self, code: str, *, caller: str = "local", approve: Any = None, **_: Any) -> Outcome:
        if approve is None:
            return replace(OK, status="awaiting_approval", success=False, plan=PLAN)
        try:
            return replace(OK, result=await approve(PLAN))
        except BaseException:
            self.cancelled.set()
            raise


def _hall(runtime: Asking) -> Any:
    async def hall() -> Any:
        return runtime

    return hall


@pytest.mark.parametrize(("said", "result"), [("all", [1, 2]), ("2", [2]), ("none", "none"), ("whatever", "none")])
async def test_the_numbers_that_a_person_approves_reach_the_run(state: Path, mode: Mode, said: str, result: Any) -> None:
    shown: list[str] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        shown.append(params.message)
        return ElicitResult(action="accept", content={"approve": said})

    async with open_door(state, hall=_hall(Asking())) as door, connected(door, mode, elicitation_callback=person) as client:
        answer = await client.call_tool("execute_code", {"code": "x"})

    assert '1. crm.delete {"id": 5}' in shown[0]
    assert answer.structured_content["result"] == result  # pyright: ignore[reportOptionalSubscript]


async def test_declining_approves_nothing(state: Path, mode: Mode) -> None:
    async def person(_context: Any, _params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async with open_door(state, hall=_hall(Asking())) as door, connected(door, mode, elicitation_callback=person) as client:
        answer = await client.call_tool("execute_code", {"code": "x"})

    assert answer.structured_content["result"] == "none"  # pyright: ignore[reportOptionalSubscript]


async def test_a_client_that_cannot_ask_learns_what_to_tell_its_user(state: Path, mode: Mode) -> None:
    async with open_door(state, hall=_hall(Asking())) as door, connected(door, mode) as client:
        answer = await client.call_tool("execute_code", {"code": "x"})

    assert not answer.is_error
    assert "gristmill approvals" in text(answer)


async def test_a_run_whose_question_is_never_answered_ends_with_the_door(state: Path, mode: Mode) -> None:
    runtime = Asking()
    asked = anyio.Event()

    async def person(_context: Any, _params: Any) -> ElicitResult:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.fail_after(20):
        async with (
            open_door(state, hall=_hall(runtime)) as door,
            connected(door, mode, elicitation_callback=person) as client,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(client.call_tool, "execute_code", {"code": "x"})
            await asked.wait()
            tasks.cancel_scope.cancel()
        await runtime.cancelled.wait()


@pytest.mark.parametrize(("said", "status"), [("all", "ok"), ("none", "failed")])
async def test_a_call_that_the_policy_asks_about_is_made_only_after_a_yes(
    state: Path, mode: Mode, said: str, status: str
) -> None:
    async def person(_context: Any, params: Any) -> ElicitResult:
        assert "crm.get" in params.message
        return ElicitResult(action="accept", content={"approve": said})

    code = "from servers.crm import get\nget(number=5)"
    async with (
        open_door(state, policy={"ask": ("crm.get",)}) as door,
        connected(door, mode, elicitation_callback=person) as client,
    ):
        answer: Any = await client.call_tool("execute_code", {"code": code})

    assert (answer.structured_content["status"] == "ok") == (status == "ok"), answer.structured_content


async def test_a_plan_that_nobody_could_be_asked_about_is_resumed_after_the_approval(state: Path, mode: Mode) -> None:
    code = "from servers.crm import get\nget(number=5)"
    async with open_door(state, policy={"ask": ("crm.get",)}) as door, connected(door, mode) as client:
        waiting: Any = await client.call_tool("execute_code", {"code": code})
        approvals = (await door.hall()).approvals
        for approval in await approvals.list():
            await approvals.decide(approval.id, "all", by="ann")
        done: Any = await client.call_tool("execute_code", {"resume": waiting.structured_content["id"]})

    assert waiting.structured_content["status"] == "awaiting_approval"
    assert done.structured_content["result"] == {"number": 5}
