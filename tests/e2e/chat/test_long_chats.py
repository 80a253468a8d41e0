"""Long conversations stay small: results become handles, first turns a summary, and the beginning of the prompt stays as it was."""

import itertools
import json
from collections.abc import Generator
from typing import Any

import pytest

from gristmill import BlockingRuntime
from gristmill.testing import ModelAnswer, ModelCall, ModelRequest, ModelServer
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, open_chat, run_on

TURNS = 40
LIMIT_TOKENS = 3_000
LONG = "from servers.rows import list_\nlist_()[:60]"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = build_config(tmp_path_factory.mktemp("long"), chat={"history_tokens": LIMIT_TOKENS})
    with BlockingRuntime(config, tools=FUNCTIONS) as opened:
        yield opened


def answer_turns(request: ModelRequest) -> ModelAnswer:
    """Runs a program with a long result in each turn, and then answers."""
    if request.tool_results:
        return ModelAnswer("The rows were read, and here is a sentence about them that is not short. " * 4)
    return ModelAnswer(
        "", [ModelCall("execute_code", {"code": LONG}, id=f"call_{len(request.messages)}_{hash(request.last_text)}")]
    )


def measure(request: ModelRequest) -> int:
    return len(json.dumps(request.body["messages"])) // 4


def test_the_prompt_of_forty_turns_stays_below_a_bound_and_its_beginning_stays_the_same(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        conversation = None
        for number in range(TURNS):
            answer = await chat.send(f"question number {number} about the rows", user="ann", conversation=conversation)
            assert answer.status == "answered", answer
            conversation = answer.conversation
        assert len(await chat.turns(str(conversation), user="ann")) == TURNS

    with ModelServer(answer_turns) as model:
        run_on(runtime, work(model), 120)
        first = [request for request in model.requests if not request.tool_results]
    one_turn = measure(model.requests[1])
    assert max(measure(request) for request in model.requests) < LIMIT_TOKENS + 1_000 + 2 * one_turn
    assert sum(map(measure, first[20:])) < 20 * (LIMIT_TOKENS + 1_000 + one_turn)

    kept = [_is_prefix(before.messages, after.messages) for before, after in itertools.pairwise(first)]
    assert kept.count(False) <= 8  # each time that first turns become a summary, and never else
    assert kept[:5] == [True] * 5
    assert len({json.dumps(request.body["tools"]) for request in first}) == 1


def _is_prefix(before: Any, after: Any) -> bool:
    return list(after[: len(before)]) == list(before)


def test_a_long_result_of_an_earlier_turn_is_a_file_for_later_programs(runtime: BlockingRuntime) -> None:
    read = "import pathlib\n[path] = pathlib.Path('outcomes').iterdir()\n'row 59' in path.read_text()"
    script = [
        ModelAnswer("", [ModelCall("execute_code", {"code": LONG})]), ModelAnswer("Read."),
        ModelAnswer("", [ModelCall("execute_code", {"code": read})]), ModelAnswer("It is there."),
    ]  # fmt: skip

    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model)
        first = await chat.send("read", user="bea")
        second = await chat.send("is it there?", user="bea", conversation=first.conversation)
        assert second.programs[0].status == "ok", second

    with ModelServer(script) as model:
        run_on(runtime, work(model))
        (whole,) = model.requests[1].tool_results
        folded = str(next(message for message in model.requests[2].messages if message["role"] == "tool")["content"])
        assert "row 20" in whole
        assert "row 20" not in folded
        assert "outcomes/" in folded
        assert model.requests[3].tool_results == ("ok\nresult: true",)
