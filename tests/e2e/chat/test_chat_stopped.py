"""A turn is stopped in each of its states: each leaves a stated standing, and goes on later without repeating a call."""

import asyncio
from collections.abc import Callable, Generator
from threading import Event
from typing import Any

import pytest

from gristmill import BlockingRuntime
from gristmill.chat.chat import Chat
from gristmill.chat.chat_events import ChatEvent, ModelDelayed, NestedCallStarted, ProgramStarted
from gristmill.chat.code_backends import RuntimeBackend
from gristmill.config.sections.serve_section import ServeConfig
from gristmill.errors import Conflict
from gristmill.runs.served_runs import ServedRuns, build_runs
from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelServer
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, collect, open_chat, read_answer, run_on, written

GATE = Event()
READ_FIVE = "from servers import rows\nrows.read(row=5)"
HOLD_THREE = "from servers.rows import hold\n[hold(row=row)['row'] for row in (1, 2, 3)]"
held: list[int] = []


async def hold(row: int) -> dict[str, int]:
    """Write a row; the second waits until the gate opens."""
    held.append(row)
    if row == 2:
        await asyncio.get_running_loop().run_in_executor(None, GATE.wait, 30)
    written.append((row, ""))
    return {"row": row}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = build_config(tmp_path_factory.mktemp("stopped"), policy={"ask": ["rows.hold"]})
    with BlockingRuntime(config, tools={**FUNCTIONS, "rows.hold": hold}) as opened:
        yield opened


@pytest.fixture(autouse=True)
def forget_written() -> Generator[None]:
    written.clear()
    held.clear()
    GATE.clear()
    yield
    GATE.set()


def run_code(code: str) -> ModelAnswer:
    return ModelAnswer("", [ModelCall("execute_code", {"code": code})])


async def check_stopped(chat: Chat, user: str, turns: list[str]) -> str:
    """What a stopped turn leaves: no turn runs, the conversation is idle, and its record says how each turn ended."""
    (kept,) = await chat.conversations(user=user)
    assert kept.standing == "idle"
    assert chat.follow(kept.id, user=user) is None
    assert [turn.status for turn in await chat.turns(kept.id, user=user)] == turns
    assert not await chat.stop(kept.id, user=user)
    return kept.id


@pytest.mark.parametrize("state", ["preparing", "beginning"])
def test_a_turn_that_has_not_asked_the_model_yet_is_stopped(
    runtime: BlockingRuntime, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place between the claim of a conversation and the first step of its turn."""
    searching, go_on = asyncio.Event(), asyncio.Event()
    search = RuntimeBackend.search

    async def search_later(*given: Any, **more: Any) -> Any:
        searching.set()
        await go_on.wait()
        return await search(*given, **more)

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model, mode="blocks")
        first = await chat.send("hello", user=state)
        if state == "preparing":
            monkeypatch.setattr(RuntimeBackend, "search", search_later)
            sending = asyncio.create_task(chat.send("again", user=state, conversation=first.conversation))
            await searching.wait()
            stopping = asyncio.create_task(chat.stop(first.conversation, user=state))
            await asyncio.sleep(0)
            go_on.set()
            assert await stopping
            answer = await sending
        else:
            events = await chat.send("again", user=state, conversation=first.conversation, stream=True)
            assert await chat.stop(first.conversation, user=state)
            answer = read_answer(await collect(events))
        assert answer.problem is not None
        assert (answer.status, answer.problem.code, len(model.requests)) == ("stopped", "cancelled", 1)
        id_ = await check_stopped(chat, state, ["answered", "stopped"])
        again = await chat.resume(id_, user=state)
        assert (again.status, again.text, again.turn) == ("answered", "Second.", 2)

    with ModelServer([ModelAnswer("First."), ModelAnswer("Second.")]) as model:
        run_on(runtime, work(model))


@pytest.mark.parametrize("state", ["asked", "delayed"])
def test_a_turn_that_waits_for_its_model_is_stopped(runtime: BlockingRuntime, state: str) -> None:
    first = ModelAnswer("Late.", pause=GATE.wait) if state == "asked" else ModelFailure(429, "slow down", retry_after=4)

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        events = await chat.send("hello", user=state, stream=True)
        if state == "asked":
            await asyncio.get_running_loop().run_in_executor(None, model.wait_for_requests, 1)
        else:
            assert await wait_for(events, ModelDelayed)
        assert await chat.stop((await chat.conversations(user=state))[0].id, user=state)
        assert read_answer(await collect(events)).status == "stopped"
        id_ = await check_stopped(chat, state, ["stopped"])
        GATE.set()
        assert (await chat.resume(id_, user=state)).text == "Hello."

    with ModelServer([first, ModelAnswer("Hello.")]) as model:
        run_on(runtime, work(model))


@pytest.mark.parametrize("which", ["tenant", "all"])
def test_a_program_that_is_queued_behind_others_is_taken_out_of_the_queue(runtime: BlockingRuntime, which: str) -> None:
    async def work(model: ModelServer) -> None:
        runs = build_runs(
            runtime.runtime, ServeConfig(concurrency=1 if which == "tenant" else 0), places=4 if which == "tenant" else 1
        )
        chat = open_chat(runtime.runtime, model, runs=runs)
        busy = asyncio.create_task(runs_one(runs))
        await until(lambda: runs.lanes.running == 1)
        events = await chat.send("read", user=which, stream=True)
        assert await wait_for(events, ProgramStarted)
        await until(lambda: runs.lanes.count_running_and_waiting("local") == (1, 1))
        assert await chat.stop((await chat.conversations(user=which))[0].id, user=which)
        assert read_answer(await collect(events)).status == "stopped"
        assert runs.lanes.count_running_and_waiting("local") == (1, 0)
        id_ = await check_stopped(chat, which, ["stopped"])
        resuming = asyncio.create_task(chat.resume(id_, user=which))
        await until(lambda: runs.lanes.count_running_and_waiting("local") == (1, 1))
        GATE.set()
        await busy
        done = await resuming
        assert (done.status, done.text, done.programs[0].status) == ("answered", "Row 5.", "ok")

    async def runs_one(runs: ServedRuns) -> None:
        ticket = runs.lanes.enter("local")
        async with runs.lanes.hold_place(ticket):
            await asyncio.get_running_loop().run_in_executor(None, GATE.wait, 30)

    with ModelServer([run_code(READ_FIVE), ModelAnswer("Row 5.")]) as model:
        run_on(runtime, work(model))


def test_a_plan_that_waits_is_not_stopped_but_decided(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        waiting = await chat.send("hold", user="plan")
        id_ = waiting.conversation
        assert not await chat.stop(id_, user="plan")  # nothing runs: the plan is there until it is decided or expires
        (kept,) = await chat.conversations(user="plan")
        assert kept.standing == "awaiting_approval"
        assert await chat.question(id_, user="plan") == waiting.approval
        again = await chat.resume(id_, user="plan")
        assert (again.status, again.approval) == ("awaiting_approval", waiting.approval)
        done = await chat.decide(id_, "none", user="plan")
        assert (done.status, done.text, held) == ("answered", "Left.", [])
        await check_stopped(chat, "plan", ["answered"])

    with ModelServer([run_code(HOLD_THREE), ModelAnswer("Left.")]) as model:
        run_on(runtime, work(model))


def test_a_plan_that_is_applied_is_stopped_between_its_calls(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        id_ = (await chat.send("hold", user="apply")).conversation
        events = await chat.decide(id_, "all", user="apply", stream=True)
        assert await wait_for(events, NestedCallStarted, lambda: held == [1, 2])
        assert await chat.stop(id_, user="apply")
        assert read_answer(await collect(events)).status == "stopped"
        await check_stopped(chat, "apply", ["stopped"])
        with pytest.raises(Conflict, match="no plan"):
            await chat.decide(id_, "all", user="apply")
        GATE.set()
        lost = await chat.resume(id_, user="apply")
        # What the second call did before it was stopped cannot be known, so it is asked about; the first is not made again.
        calls = (lost.approval or {})["calls"]
        assert (lost.status, calls[0]["was_lost"]) == ("awaiting_approval", True)
        assert [call["arguments"]["row"] for call in calls] == [2, 3]
        done = await chat.decide(id_, "all", user="apply")
        assert (done.status, done.text) == ("answered", "Held."), done
        assert held == [1, 2, 2, 3]

    with ModelServer([run_code(HOLD_THREE), ModelAnswer("Held.")]) as model:
        run_on(runtime, work(model))
        assert "[1,2,3]" in model.requests[1].tool_results[0]


async def wait_for(events: Any, kind: type[ChatEvent], more: Callable[[], bool] = lambda: True) -> bool:
    """Reads events until one of a kind has come, and what else is waited for is true."""
    async for event in events:
        if isinstance(event, kind):
            await until(more)
            return True
    return False


async def until(is_true: Callable[[], bool]) -> None:
    """Lets others work until something is true."""
    async with asyncio.timeout(30):
        while not is_true():
            await asyncio.sleep(0)
