"""A message becomes text, programs and an answer; conversations are kept, and what each turn cost is counted."""

from collections.abc import Generator
from typing import Any

import pytest

from gristmill import BlockingRuntime
from gristmill.chat.chat_events import (
    ApprovalNeeded,
    ChatEvent,
    CodeDelta,
    NestedCallFinished,
    ProgramFinished,
    ProgramPrinted,
    ProgramStarted,
    TextDelta,
    ToolsSearched,
    TurnAnswered,
    TurnBegan,
    UsageCounted,
)
from gristmill.chat.code_backends import Approved
from gristmill.errors import ConfigError, Conflict, NotFound
from gristmill.testing import ModelAnswer, ModelCall, ModelServer
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, collect, open_chat, read_answer, run_on, written

TWO_READS = """
from servers import rows
print(context.city)
[rows.read(row=number) for number in (1, 2)]
"""
THREE_WRITES = """
from servers import rows
for number in (1, 2, 3):
    rows.write(row=number)
"all written"
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    with BlockingRuntime(build_config(tmp_path_factory.mktemp("chat")), tools=FUNCTIONS) as opened:
        yield opened


@pytest.fixture(autouse=True)
def forget_written() -> None:
    written.clear()


def run_code(code: str, text: str = "", **more: Any) -> ModelAnswer:
    return ModelAnswer(text, [ModelCall("execute_code", {"code": code})], **more)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_turn_is_told_in_typed_events_and_counted(runtime: BlockingRuntime, wire: str) -> None:
    script = [
        ModelAnswer("I look.", [ModelCall("search_tools", {"query": "read a row"})], input_tokens=200, output_tokens=5),
        run_code(TWO_READS, "I run.", input_tokens=1_000, output_tokens=10, cached_tokens=200),
        ModelAnswer("Row 1 and row 2.", input_tokens=1_200, output_tokens=20, cached_tokens=1_000),
    ]

    async def work(model: ModelServer) -> list[ChatEvent]:
        chat = open_chat(runtime.runtime, model, wire)
        events = await collect(await chat.send("read two rows", user=wire, context={"city": "Bern"}, stream=True))
        (turn,) = await chat.turns(read_answer(events).conversation, user=wire)
        (kept,) = await chat.conversations(user=wire)
        assert (turn.usage, kept.usage, kept.title) == (read_answer(events).usage, turn.usage, "read two rows")
        return events

    with ModelServer(script) as model:
        events = run_on(runtime, work(model))
    kinds = [TurnBegan, ToolsSearched, ProgramStarted, NestedCallFinished, ProgramPrinted, ProgramFinished, TurnAnswered]
    first = {kind: next(place for place, event in enumerate(events) if type(event) is kind) for kind in kinds}
    assert list(first.values()) == sorted(first.values())
    assert "".join(event.text for event in events if isinstance(event, CodeDelta)) == TWO_READS
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "I look.I run.Row 1 and row 2."
    answer = read_answer(events)
    assert (answer.status, answer.text, answer.programs[0].status) == ("answered", "Row 1 and row 2.", "ok")
    used = answer.usage
    assert (used.input_tokens, used.output_tokens, used.cached_tokens, used.requests) == (2_400, 35, 1_200, 3)
    assert used.money == pytest.approx((1_200 * 3 + 1_200 * 0.3 + 35 * 15) / 1e6)
    assert len([event for event in events if isinstance(event, UsageCounted)]) == 3
    assert "Bern" in model.requests[2].tool_results[0]
    assert "Bern" not in model.requests[0].last_text  # the model is told the names of the context, not its values


def test_a_conversation_goes_on_with_its_variables_and_belongs_to_one_user(runtime: BlockingRuntime) -> None:
    script = [run_code("total = 41"), ModelAnswer("Kept."), run_code("total + 1"), ModelAnswer("42")]

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        first = await chat.send("keep it", user="bea")
        second = await chat.send("add one", user="bea", conversation=first.conversation)
        assert (second.conversation, second.turn, second.text) == (first.conversation, 2, "42")
        for ask in (chat.send("mine?", user="eve", conversation=first.conversation), chat.delete(first.conversation, user="eve")):
            with pytest.raises(NotFound):
                await ask
        assert await chat.conversations(user="eve") == ()
        messages = await chat.messages(first.conversation, user="bea")
        assert [message.kind for message in messages] == ["user", "model", "result", "model"] * 2
        assert await chat.undo(first.conversation, user="bea")
        assert len(await chat.messages(first.conversation, user="bea")) == 4
        assert await chat.delete(first.conversation, user="bea")
        with pytest.raises(NotFound):
            await chat.messages(first.conversation, user="bea")

    with ModelServer(script) as model:
        run_on(runtime, work(model))
        assert "42" in model.requests[3].tool_results[0]


@pytest.mark.parametrize(("approve", "rows", "status"), [("all", [1, 2, 3], "ok"), ([1], [1], "failed"), ("none", [], "failed")])
def test_a_plan_is_one_question_and_only_what_was_approved_is_done(
    runtime: BlockingRuntime, approve: Approved, rows: list[int], status: str
) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        events = await collect(await chat.send("write", user="cat", stream=True))
        asked = next(event for event in events if isinstance(event, ApprovalNeeded))
        waiting = read_answer(events)
        assert (waiting.status, waiting.approval, len(asked.question["calls"])) == ("awaiting_approval", asked.question, 3)
        assert written == []
        assert (await chat.question(waiting.conversation, user="cat") or {})["hash"] == asked.question["hash"]
        done = await chat.decide(waiting.conversation, approve, user="cat")
        assert (done.status, done.text, done.turn) == ("answered", "Done.", 1)
        assert done.programs[-1].status == status
        assert await chat.question(waiting.conversation, user="cat") is None
        with pytest.raises(Conflict):
            await chat.decide(waiting.conversation, "all", user="cat")

    with ModelServer([run_code(THREE_WRITES), ModelAnswer("Done.")]) as model:
        run_on(runtime, work(model))
    assert [row for row, _ in written] == rows


def test_a_new_message_leaves_a_plan_that_waits_and_its_call_gets_a_result(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        waiting = await chat.send("write", user="dan")
        answer = await chat.send("never mind", user="dan", conversation=waiting.conversation)
        assert (answer.text, written) == ("Left.", [])

    with ModelServer([run_code(THREE_WRITES), ModelAnswer("Left.")]) as model:
        run_on(runtime, work(model))
        assert [message["role"] for message in model.requests[1].messages] == ["system", "user", "assistant", "tool", "user"]


@pytest.mark.parametrize("mode", ["hybrid", "direct"])
def test_chosen_tools_are_called_without_a_program(runtime: BlockingRuntime, mode: str) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model, mode=mode, direct=["rows.read"])
        events = await collect(await chat.send("row 7", user="fay", stream=True))
        (started,) = [event for event in events if isinstance(event, ProgramStarted)]
        assert started.tool == "rows.read"

    with ModelServer([ModelAnswer("", [ModelCall("rows__read", {"row": 7})]), ModelAnswer("It is row 7.")]) as model:
        run_on(runtime, work(model))
        ours = () if mode == "direct" else ("search_tools", "execute_code")
        assert model.requests[0].tools == (*ours, "rows__read")
        assert "row 7" in model.requests[1].tool_results[0]


def test_a_turn_runs_once_at_a_time_and_an_unknown_mode_is_refused(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        first = await chat.send("one", user="gil")
        events = await chat.send("two", user="gil", conversation=first.conversation, stream=True)
        assert isinstance(await anext(events), TurnBegan)
        with pytest.raises(Conflict):
            await chat.send("three", user="gil", conversation=first.conversation)
        assert read_answer(await collect(events)).text == "second"
        with pytest.raises(ConfigError, match="no mode"):
            await chat.send("four", mode="fast")  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="name them"):
            open_chat(runtime.runtime, model, mode="hybrid")

    with ModelServer([ModelAnswer("first"), ModelAnswer("second")]) as model:
        run_on(runtime, work(model))


def test_a_forgotten_turn_is_not_answered_from_its_record(runtime: BlockingRuntime) -> None:
    """Some models number their calls anew in each answer: the next turn has the same number, and the same call."""
    call = ModelAnswer("", [ModelCall("execute_code", {"code": "print('again')"}, id="call_1")])

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        first = await chat.send("print", user="kim")
        assert await chat.undo(first.conversation, user="kim")
        second = await chat.send("print", user="kim", conversation=first.conversation)
        assert (second.turn, second.programs[0].status) == (first.turn, "ok")
        assert second.programs[0].execution != first.programs[0].execution

    with ModelServer([call, ModelAnswer("One."), call, ModelAnswer("Two.")]) as model:
        run_on(runtime, work(model))
