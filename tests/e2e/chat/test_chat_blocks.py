"""Models without tool calling answer with a marked block: it is run, its outcome given back, and the answer asked for."""

from collections.abc import Generator

import pytest

from gristmill import BlockingRuntime
from gristmill.testing import ModelAnswer, ModelServer
from tests.e2e.chat.open_chat import FUNCTIONS, build_config, open_chat, run_on

BLOCK = "I count them.\n\n```run\nfrom servers.rows import list_\nlen(list_())\n```\n"


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    with BlockingRuntime(build_config(tmp_path_factory.mktemp("blocks")), tools=FUNCTIONS) as opened:
        yield opened


def test_a_marked_block_is_run_and_what_is_invented_after_it_is_forgotten(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        chat = open_chat(runtime.runtime, model, mode="blocks")
        answer = await chat.send("how many rows?", user="ann")
        assert (answer.status, answer.text, answer.programs[0].status) == ("answered", "There are 200 rows.", "ok")
        again = await chat.send("show me how", user="ann", conversation=answer.conversation)
        assert (again.status, again.programs) == ("answered", ())

    script = [ModelAnswer(BLOCK + "It printed 7, so there are 7 rows."), ModelAnswer("There are 200 rows."),
              ModelAnswer("Like this:\n\n```python\nlen(list_())\n```\n")]  # fmt: skip
    with ModelServer(script) as model:
        run_on(runtime, work(model))
        first, second, third = model.requests
    assert first.tools == ()
    assert "from servers.rows import" in first.last_text  # such a model cannot search, so the tools are found for it
    assert "```run" in first.system
    assert "result: 200" in second.last_text
    assert not any("7 rows" in str(message) for message in second.messages)
    assert not any("from servers.rows import read" in str(message) for message in third.messages[:-1])  # only in its own turn


def test_a_block_that_was_cut_off_by_the_provider_is_not_run(runtime: BlockingRuntime) -> None:
    async def work(model: ModelServer) -> None:
        answer = await open_chat(runtime.runtime, model, mode="blocks").send("how many rows?", user="bea")
        assert (answer.text, answer.programs) == ("Too long.", ())

    script = [ModelAnswer("```run\nfrom servers.rows import wr", stop="length"), ModelAnswer("Too long.")]
    with ModelServer(script) as model:
        run_on(runtime, work(model))
        assert "cut off" in model.requests[1].last_text
