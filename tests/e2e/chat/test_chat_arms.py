"""A chat of a program with a rollout: the arm's mode, model and prompt, kept while a person decides, and what came of the turn."""

import time
from collections.abc import Generator

import pytest

from gristmill import BlockingRuntime, Runtime
from gristmill.rollout.arm_outcomes import ArmOutcome
from gristmill.rollout.execution_arms import open_arms
from gristmill.rollout.open_rollouts import build_rollouts
from gristmill.rollout.rollouts import Rollouts
from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelRequest, ModelServer
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, open_chat, run_on, written

ROLLOUT = {
    "name": "py-chat",
    "arms": {"direct": {"mode": "direct"}, "code": {"mode": "code", "model": "openai:other", "prompt": "You are the new arm."}},
    "stages": [{"percent": 100}],
}
WRITE = "from servers import rows\nrows.write(row=1)"


def choose_answer(request: ModelRequest) -> ModelAnswer | ModelFailure:
    if "fail" in request.last_text:
        return ModelFailure(400, "no")
    if request.tool_results or "execute_code" not in request.tools or "write" not in request.last_text:
        return ModelAnswer(f"Done by {request.model}.", input_tokens=70, output_tokens=7)
    return ModelAnswer("I write.", [ModelCall("execute_code", {"code": WRITE})], input_tokens=30, output_tokens=3)


@pytest.fixture
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = build_config(
        tmp_path_factory.mktemp("arms"), rollout=ROLLOUT, chat={"direct": ["rows.read"], "instructions": "You are the old arm."}
    )
    with BlockingRuntime(config, tools=FUNCTIONS) as opened:
        yield opened


async def read_outcomes(runtime: Runtime) -> list[ArmOutcome]:
    await runtime.store.flush()
    found: Rollouts = build_rollouts(runtime)
    return sorted(await found.outcomes.list_outcomes("py-chat", 0, time.time() + 1), key=lambda made: made.id)


def test_a_turn_keeps_its_arm_while_a_person_decides_also_in_another_process(runtime: BlockingRuntime) -> None:
    written.clear()

    async def talk(model: ModelServer) -> list[ArmOutcome]:
        held = runtime.runtime
        await build_rollouts(held).take_step("start", by="test")
        async with open_arms(held) as arms:
            first = await open_chat(held, model, arms=arms).send("write a row", user="ann")
            assert (first.status, first.mode) == ("awaiting_approval", "code")
        assert await read_outcomes(held) == []  # it waits: nothing is known yet, and its program is a part of it
        async with open_arms(held) as arms:  # as another process would go on
            chat = open_chat(held, model, arms=arms)
            done = await chat.decide(first.conversation, "all", user="ann", by="bob")
            assert (done.status, done.text, written) == ("answered", "Done by other.", [(1, "")])
            again = await chat.send("and now?", user="ann", conversation=first.conversation)
            assert again.text == "Done by other."
        return await read_outcomes(held)

    with ModelServer(choose_answer) as model:
        decided, later = run_on(runtime, talk(model))
        assert {request.model for request in model.requests} == {"other"}
        assert all("You are the new arm." in one.system and "old arm" not in one.system for one in model.requests)
    assert (decided.arm, decided.status, decided.approvals, decided.used_code) == ("code", "ok", 1, True)
    assert (decided.tokens_in, decided.tokens_out) == (100, 10), "the request before the decision counts too"
    assert (later.arm, later.conversation, later.tokens_in) == ("code", decided.conversation, 70)


def test_before_the_start_the_old_arm_works_and_a_failed_turn_that_goes_on_stays_failed(runtime: BlockingRuntime) -> None:
    async def talk(model: ModelServer) -> list[ArmOutcome]:
        held = runtime.runtime
        async with open_arms(held) as arms:
            before = await open_chat(held, model, arms=arms).send("look", user="ann")
            assert (before.mode, before.text) == ("direct", "Done by scripted.")
        assert await read_outcomes(held) == []
        await build_rollouts(held).take_step("start", by="test")
        async with open_arms(held) as arms:
            chat = open_chat(held, model, arms=arms)
            failed = await chat.send("fail", user="ann")
            assert failed.status == "failed"
            resumed = await chat.resume(failed.conversation, user="ann")
            assert resumed.status == "failed"
        return await read_outcomes(held)

    with ModelServer(choose_answer) as model:
        made = run_on(runtime, talk(model))
        assert "You are the old arm." in model.requests[0].system
    assert [(one.arm, one.failed) for one in made] == [("code", True)]
