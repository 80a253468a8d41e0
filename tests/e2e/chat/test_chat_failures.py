"""What goes wrong around a turn is named, waited for, or answered without: and a turn that broke off goes on without repeating."""

import asyncio
from collections.abc import Generator
from threading import Event
from typing import Any

import pytest

from gristmill import BlockingRuntime
from gristmill.chat.chat_events import ModelDelayed, NestedCallStarted, ProgramStarted, TextDelta, TurnNoted
from gristmill.chat.code_backends import RuntimeBackend
from gristmill.errors import Busy, SandboxUnavailable
from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelServer
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, collect, open_chat, read_answer, run_on, written

GATE = Event()


def fall_over() -> str:
    """Fail, as a server does that is down."""
    raise ConnectionError("the server is down")


async def block() -> str:
    """Wait until the gate opens."""
    await asyncio.get_running_loop().run_in_executor(None, GATE.wait, 30)
    return "open"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = build_config(tmp_path_factory.mktemp("failures"), policy={"ask": []})
    tools = {**FUNCTIONS, "bad.fall": fall_over, "slow.block": block}
    with BlockingRuntime(config, tools=tools) as opened:
        yield opened


@pytest.fixture(autouse=True)
def forget_written() -> Generator[None]:
    written.clear()
    GATE.clear()
    yield
    GATE.set()


def run_code(code: str) -> ModelAnswer:
    return ModelAnswer("", [ModelCall("execute_code", {"code": code})])


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("failure", [
    ModelFailure(429, "slow down", retry_after=0.01), ModelFailure(500, "oops", retry_after=0.01),
    ModelFailure(529, "overloaded", retry_after=0.01), ModelAnswer("This breaks off soon", break_at=4),
], ids=["rate", "server", "overloaded", "connection"])  # fmt: skip
def test_a_provider_that_fails_in_passing_is_asked_again(
    runtime: BlockingRuntime, wire: str, failure: ModelAnswer | ModelFailure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gristmill.chat.ask_model.FIRST_PAUSE_SECONDS", 0.01)

    async def work(model: ModelServer) -> None:
        events = await collect(await open_chat(runtime.runtime, model, wire).send("hello", user="ann", stream=True))
        (delayed,) = [event for event in events if isinstance(event, ModelDelayed)]
        assert delayed.seconds == 0.01
        assert read_answer(events).text == "Hello."

    with ModelServer([failure, ModelAnswer("Hello.")]) as model:
        run_on(runtime, work(model))


@pytest.mark.parametrize(("failure", "code", "said"), [
    (ModelFailure(429, "slow down", retry_after=900), "model.busy", "900 s"),
    (ModelFailure(401, "bad key sk-very-secret"), "model", "refuses the key"),
    (ModelFailure(404, "no such model"), "model", "does not know this model"),
    (ModelFailure(400, "a wrong request"), "model", "a wrong request"),
], ids=["later", "key", "unknown", "refused"])  # fmt: skip
def test_a_provider_that_refuses_ends_the_turn_and_it_can_be_resumed(
    runtime: BlockingRuntime, failure: ModelFailure, code: str, said: str
) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        answer = await chat.send("write", user="bea")
        assert answer.problem is not None
        assert (answer.status, answer.problem.code, answer.problem.retry_after) == ("failed", code, failure.retry_after)
        assert said in answer.problem.message
        assert "very-secret" not in answer.problem.message
        again = await chat.resume(answer.conversation, user="bea")
        assert (again.status, again.text, again.turn) == ("answered", "Written.", 1)

    script = [run_code("from servers import rows\nrows.write(row=1)"), failure, ModelAnswer("Written.")]
    with ModelServer(script) as model:
        run_on(runtime, work(model))
    assert [row for row, _ in written] == [1]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_conversation_that_does_not_fit_is_shortened_once(runtime: BlockingRuntime, wire: str) -> None:
    text = "prompt is too long: 250000 tokens > 200000 maximum" if wire == "anthropic" else "maximum context length is 8192"
    overflow = ModelFailure(400, text, code="context_length_exceeded" if wire == "openai" else None)

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model, wire)
        first = await chat.send("say something long", user="cat")
        events = await collect(await chat.send("and now?", user="cat", conversation=first.conversation, stream=True))
        assert any(isinstance(event, TurnNoted) for event in events)
        assert read_answer(events).text == "Short."
        full = await chat.send("again", user="cat", conversation=first.conversation)
        assert full.problem is not None
        assert (full.status, full.problem.code) == ("failed", "model.prompt_too_long")

    script = [ModelAnswer("Long."), overflow, ModelAnswer("Short."), overflow, overflow]
    with ModelServer(script) as model:
        run_on(runtime, work(model))
        assert "asked: say something long; answered: Long." in str(model.requests[2].messages)


def test_a_model_that_repeats_its_failure_is_stopped(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        answer = await chat.send("loop", user="dan")
        assert answer.problem is not None
        assert (answer.status, answer.problem.code, len(answer.programs)) == ("stopped", "chat.loop", 3)
        assert (await chat.send("go on", user="dan", conversation=answer.conversation)).text == "Sorry."

    with ModelServer([*[run_code("1 / 0")] * 3, ModelAnswer("Sorry.")]) as model:
        run_on(runtime, work(model))


def test_a_model_that_never_answers_is_stopped(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        answer = await open_chat(runtime.runtime, model, settings={"steps": 4}).send("count", user="eli")
        assert answer.problem is not None
        assert (answer.status, answer.problem.code, len(answer.programs)) == ("stopped", "chat.steps", 4)

    with ModelServer([run_code(str(number)) for number in range(9)]) as model:
        run_on(runtime, work(model))


def test_a_model_that_falls_silent_is_asked_again(runtime: BlockingRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gristmill.chat.ask_model.FIRST_PAUSE_SECONDS", 0.01)

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model, settings={"model_seconds": 1.0})
        events = await collect(await chat.send("hello", user="fay", stream=True))
        assert "said nothing" in next(event for event in events if isinstance(event, ModelDelayed)).why
        assert read_answer(events).text == "Here."

    with ModelServer([ModelAnswer("Silent.", pause=GATE.wait), ModelAnswer("Here.")]) as model:
        run_on(runtime, work(model))


def test_a_tool_server_that_is_down_is_told_to_the_model(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        answer = await open_chat(runtime.runtime, model).send("fall", user="gil")
        assert (answer.status, answer.text, answer.programs[0].status) == ("answered", "It is down.", "failed")

    with ModelServer([run_code("from servers.bad import fall\nfall()"), ModelAnswer("It is down.")]) as model:
        run_on(runtime, work(model))
        assert "the server is down" in model.requests[1].tool_results[0]


@pytest.mark.parametrize("fallback", ["answer", "fail"])
def test_without_a_sandbox_the_model_answers_and_that_is_said_or_the_turn_fails(
    runtime: BlockingRuntime, fallback: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> None:
        raise SandboxUnavailable("this host has no sandbox")

    monkeypatch.setattr(RuntimeBackend, "execute", refuse)

    async def work(model: ModelServer) -> None:
        answer = await open_chat(runtime.runtime, model, settings={"fallback": fallback}).send("count", user="hal")
        if fallback == "answer":
            assert (answer.status, answer.text, answer.fallback) == ("answered", "I cannot know.", True)
            assert "sandbox.unavailable" in answer.why
        else:
            assert answer.problem is not None
            assert (answer.status, answer.problem.code) == ("failed", "sandbox.unavailable")

    with ModelServer([run_code("1"), ModelAnswer("I cannot know.")]) as model:
        run_on(runtime, work(model))


@pytest.mark.parametrize("state", ["writing", "running"])
def test_a_turn_is_stopped_in_each_state_and_goes_on_later(runtime: BlockingRuntime, state: str) -> None:
    pause: dict[str, Any] = {"pause": GATE.wait, "pause_at": 3} if state == "writing" else {}
    code = "from servers import rows, slow\nrows.write(row=5)\nslow.block()"
    first = ModelAnswer("I write it and then", [ModelCall("execute_code", {"code": code})], **pause)
    script = [first, ModelAnswer("Done.")] if state == "running" else [first, first, ModelAnswer("Done.")]

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        events = await chat.send("write", user=state, stream=True)
        begun = TextDelta if state == "writing" else NestedCallStarted
        async for event in events:
            if isinstance(event, begun) and (state == "writing" or getattr(event, "tool", "") == "slow.block"):
                break
        (kept,) = await chat.conversations(user=state)
        assert kept.standing == "running"
        assert await chat.stop(kept.id, user=state)
        assert read_answer(await collect(events)).status == "stopped"
        assert not await chat.stop(kept.id, user=state)
        (kept,) = await chat.conversations(user=state)
        assert kept.standing == "idle"
        GATE.set()
        done = await chat.resume(kept.id, user=state)
        if state == "running":  # whether the call that was stopped took place cannot be known, so it is asked about
            assert (done.status, (done.approval or {})["calls"][0]["was_lost"]) == ("awaiting_approval", True)
            done = await chat.decide(kept.id, "all", user=state)
        assert (done.status, done.text) == ("answered", "Done."), done

    with ModelServer(script) as model:
        run_on(runtime, work(model))
    assert [row for row, _ in written] == [5]


def test_closing_the_events_stops_the_turn_or_keeps_it_as_configured(runtime: BlockingRuntime) -> None:
    async def leave(model: ModelServer, gone: str) -> None:
        chat = open_chat(runtime.runtime, model, settings={"client_gone": gone})
        events = await chat.send("hello", user=gone, stream=True)
        async for event in events:
            if isinstance(event, TextDelta):
                break
        await events.aclose()
        followed = chat.follow(*[each.id for each in await chat.conversations(user=gone)], user=gone)
        GATE.set()
        kept = read_answer(await collect(followed)) if followed is not None else None
        (turn,) = await chat.turns((await chat.conversations(user=gone))[0].id, user=gone)
        assert turn.status == ("answered" if gone == "keep" else "stopped")
        assert (kept is not None and kept.text == "One two three.") == (gone == "keep")

    for gone in ("stop", "keep"):
        GATE.clear()
        with ModelServer([ModelAnswer("One two three.", pause=GATE.wait, pause_at=2)]) as model:
            run_on(runtime, leave(model, gone))


def test_a_tenant_has_a_limited_number_of_turns_at_once(runtime: BlockingRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        monkeypatch.setattr(chat, "_running", type(chat._running)(2))  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(chat._kept, "_running", chat._running)  # pyright: ignore[reportPrivateUsage]
        first, second = [asyncio.create_task(chat.send(f"{number}", user="ivy")) for number in (1, 2)]
        await asyncio.get_running_loop().run_in_executor(None, model.wait_for_requests, 2)
        with pytest.raises(Busy, match="2 turns"):
            await chat.send("3", user="ivy")
        GATE.set()
        assert [(await each).status for each in (first, second)] == ["answered", "answered"]

    with ModelServer([ModelAnswer("Yes.", pause=GATE.wait)] * 3) as model:
        run_on(runtime, work(model))


def test_a_program_that_is_shown_was_started(runtime: BlockingRuntime) -> None:
    """A call whose arguments are not JSON, and one of a tool that does not exist, are told to the model and run nothing."""

    async def work(model: ModelServer) -> None:
        events = await collect(await open_chat(runtime.runtime, model).send("hello", user="joe", stream=True))
        assert not any(isinstance(event, ProgramStarted) for event in events)
        assert read_answer(events).text == "I see."

    with ModelServer([ModelAnswer("", [ModelCall("drop_tables", {"all": True})]), ModelAnswer("I see.")]) as model:
        run_on(runtime, work(model))
        assert "there is no tool" in model.requests[1].tool_results[0]
