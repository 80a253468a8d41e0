"""Mode ``auto`` chooses for each task from the accounts and says why; values of the context stay out of what the model writes."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.chat.chat_events import TurnBegan
from gristmill.testing import ModelAnswer, ModelCall, ModelServer
from tests.e2e.chat.open_chat import build_config, collect, open_chat, read_answer, run_on

SECRET = "u-7741-secret"
OURS = ("search_tools", "execute_code")
asked: list[tuple[str, str]] = []


def find_trips(user_id: str, year: int = 2026) -> list[str]:
    """Find the trips of a user."""
    asked.append(("find", user_id))
    return [f"trip {year}"]


def cancel_trip(user_id: str, trip: int) -> str:
    """Cancel a trip of a user."""
    asked.append(("cancel", user_id))
    return f"trip {trip} is cancelled"


def read_note(number: int) -> str:
    """Read a note."""
    return f"note {number}"


def list_orders() -> list[str]:
    """List all orders of the shop."""
    return [f"order {number} with a long text about nothing in particular" for number in range(200)]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config: Config = build_config(tmp_path_factory.mktemp("modes"), policy={"ask": ["trips.cancel"]})
    with BlockingRuntime(config, tools={"trips.find": find_trips, "trips.cancel": cancel_trip}) as opened:
        yield opened


@pytest.fixture(autouse=True)
def forget_asked() -> None:
    asked.clear()


def test_auto_chooses_for_each_task_of_a_conversation_and_says_why(tmp_path: Path) -> None:
    async def work(runtime: BlockingRuntime, model: ModelServer) -> None:
        opened = runtime.runtime
        chat = open_chat(opened, model, mode="auto")

        async def ask(text: str, conversation: str | None) -> tuple[Any, str]:
            events = await collect(await chat.send(text, user="ann", conversation=conversation, stream=True))
            answer = read_answer(events)
            (began,) = [event for event in events if isinstance(event, TurnBegan)]
            assert (began.mode, began.why) == (answer.mode, answer.why)  # it is said at the beginning, and in the answer
            return answer, answer.conversation

        unknown, id_ = await ask("read note", None)
        await opened.execute("from servers import notes\nnotes.read_note(number=1)")
        await opened.execute("from servers import shop\nlen(shop.list_orders())")
        small, _ = await ask("read note", id_)
        large, _ = await ask("list orders", id_)
        assert "was called before" in unknown.why
        assert "direct calls cost less" in small.why
        assert small.programs[0].tools_called == ("notes.read_note",)
        assert "a program filters them" in large.why
        (kept,) = await chat.conversations(user="ann")
        assert kept.mode == "auto"  # the next task is chosen for anew

    tools = {"notes.read_note": read_note, "shop.list_orders": list_orders}
    script = [
        ModelAnswer("One."), ModelAnswer("", [ModelCall("notes__read_note", {"number": 1})]), ModelAnswer("Two."),
        ModelAnswer("Three."),
    ]  # fmt: skip
    with BlockingRuntime(build_config(tmp_path), tools=tools) as runtime, ModelServer(script) as model:
        run_on(runtime, work(runtime, model))
        offered = [request.tools for request in model.requests]
    assert offered == [OURS, (*OURS, "notes__read_note"), (*OURS, "notes__read_note"), OURS]


@pytest.mark.parametrize("mode", ["hybrid", "direct"])
def test_a_direct_call_takes_its_user_from_the_context_and_not_from_the_model(runtime: BlockingRuntime, mode: str) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(
            runtime.runtime, model, mode=mode, direct=["trips.find", "trips.cancel"], settings={"fill": ("user_id",)}
        )
        answer = await chat.send("my trips", user=mode, context={"user_id": SECRET})
        assert (answer.status, answer.text) == ("answered", "One trip.")
        waiting = await chat.send("cancel it", user=mode, conversation=answer.conversation, context={"user_id": SECRET})
        # The person sees whose trip it is.
        assert [call["arguments"] for call in (waiting.approval or {})["calls"]] == [{"user_id": SECRET, "trip": 1}]
        assert (await chat.decide(answer.conversation, "all", user=mode)).text == "Cancelled."

    script = [
        ModelAnswer("", [ModelCall("trips__find", {"year": 2025, "user_id": "another"})]), ModelAnswer("One trip."),
        ModelAnswer("", [ModelCall("trips__cancel", {"trip": 1})]), ModelAnswer("Cancelled."),
    ]  # fmt: skip
    with ModelServer(script) as model:
        run_on(runtime, work(model))
        requests = model.requests
    assert asked == [("find", SECRET), ("cancel", SECRET)]
    assert "trip 2025" in requests[1].tool_results[0]
    for request in requests:
        assert SECRET not in str(request.body)
        assert "user_id" not in str(request.body["tools"])


def test_a_direct_call_without_its_user_in_the_context_is_not_made(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model, mode="direct", direct=["trips.find"], settings={"fill": ("user_id",)})
        assert (await chat.send("my trips", user="bea")).text == "I cannot."

    with ModelServer([ModelAnswer("", [ModelCall("trips__find", {"user_id": "guessed"})]), ModelAnswer("I cannot.")]) as model:
        run_on(runtime, work(model))
        assert "takes user_id from the context" in model.requests[1].tool_results[0]
    assert asked == []


def test_a_program_reads_the_context_and_its_values_are_in_no_request(runtime: BlockingRuntime) -> None:
    code = "from servers import trips\nlen(trips.find(user_id=context.user_id))"

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model, mode="hybrid", direct=["trips.find"])
        answer = await chat.send("how many trips?", user="cat", context={"user_id": SECRET})
        assert (answer.text, answer.programs[0].code) == ("One.", code)
        assert not any(SECRET in str(said.body) for said in await chat.messages(answer.conversation, user="cat"))

    with ModelServer([ModelAnswer("", [ModelCall("execute_code", {"code": code})]), ModelAnswer("One.")]) as model:
        run_on(runtime, work(model))
        assert "(`context` has: user_id)" in model.requests[0].last_text
        assert not any(SECRET in str(request.body) for request in model.requests)
    assert asked == [("find", SECRET)]
