"""The chain: a program answers, is mended, or is done without; streams, batches, callbacks and token counts of every step."""

import asyncio
from collections.abc import Generator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from gristmill import BlockingRuntime, Config
from gristmill.errors import ConfigError, Error
from gristmill.serve.langchain import MCPCodeExecutionChain
from gristmill.testing import ModelAnswer, ModelServer


def list_orders() -> list[dict[str, int]]:
    """List all orders."""
    return [{"id": number, "total": number} for number in range(300)]


GOOD = ModelAnswer(
    "Here it is:\n```python\nfrom servers import shop\nsum(o['total'] for o in shop.list_orders())\n```", input_tokens=500
)
BAD = ModelAnswer("```python\nfrom servers import shop\nshop.list_orders()[0]['sum']\n```")
SAID = ModelAnswer("The sum is 44,850.", input_tokens=100, output_tokens=7)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Generator[BlockingRuntime]:
    config = Config.model_validate({"store": {"path": str(tmp_path_factory.mktemp("chain"))}})
    with BlockingRuntime(config, tools={"shop.list_orders": list_orders}) as opened:
        yield opened


def use_model(model: ModelServer) -> ChatOpenAI:
    return ChatOpenAI(model="scripted", base_url=model.openai_url, api_key=SecretStr("key"), max_retries=0, stream_usage=True)


def test_a_program_answers_and_its_tokens_are_compared_with_direct_calls(runtime: BlockingRuntime) -> None:
    with ModelServer([GOOD, SAID]) as model:
        chain = MCPCodeExecutionChain(runtime, use_model(model))
        done = chain.invoke({"question": "the sum of all orders?", "context": {"user": 1}})
    assert (done.get("answer"), done.get("mode"), done.get("fallback")) == (SAID.text, "code", None)
    assert [attempt["outcome"]["result"] for attempt in done.get("attempts", [])] == [44850]
    assert done.get("tools") == ["shop.list_orders"]
    assert done.get("usage", {})["interpret"] == {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107}
    assert set(done.get("usage", {})) == {"write 1", "interpret"}
    assert (done.get("direct_tokens") or 0) > done.get("total_tokens", 0) > 600  # 300 orders would have been in the conversation
    assert "def list_orders" in model.requests[0].system or "list_orders(" in model.requests[0].system
    assert chain.counts == {"code": 1}


def test_a_program_that_fails_is_mended_with_the_hint(runtime: BlockingRuntime) -> None:
    with ModelServer([BAD, GOOD, SAID]) as model:
        done = MCPCodeExecutionChain(runtime, use_model(model)).invoke("the sum?")
    assert [attempt["outcome"]["status"] for attempt in done.get("attempts", [])] == ["failed", "ok"]
    assert "KeyError" in model.requests[1].last_text
    assert done.get("answer") == SAID.text


def test_a_question_that_needs_no_program_is_answered_at_once(runtime: BlockingRuntime) -> None:
    with ModelServer([ModelAnswer("Hello!")]) as model:
        done = MCPCodeExecutionChain(runtime, use_model(model)).invoke("hi")
    assert (done.get("answer"), done.get("mode"), done.get("attempts")) == ("Hello!", "text", None)


@pytest.mark.parametrize("fallback", ["direct", "answer"])
def test_spent_attempts_lead_to_the_model_alone_and_that_is_said_and_counted(runtime: BlockingRuntime, fallback: Any) -> None:
    with ModelServer([BAD, BAD, ModelAnswer("I do not know.")]) as model:
        chain = MCPCodeExecutionChain(runtime, use_model(model), attempts=2, fallback=fallback)
        done = chain.invoke("the sum?")
    assert (done.get("answer"), done.get("mode"), chain.counts) == ("I do not know.", fallback, {fallback: 1})
    assert "2 programs did not succeed" in (done.get("fallback") or "")
    assert len(model.requests[2].messages) == (1 if fallback == "direct" else 7)


def test_a_service_that_is_down_leads_to_the_model_alone() -> None:
    with ModelServer([ModelAnswer("Without code.")]) as model:
        done = MCPCodeExecutionChain("http://127.0.0.1:9", use_model(model)).invoke("the sum?")
    assert (done.get("answer"), done.get("mode")) == ("Without code.", "direct")
    assert (done.get("fallback") or "").startswith("upstream.unavailable")


def test_the_fallback_can_be_an_error(runtime: BlockingRuntime) -> None:
    with ModelServer([BAD]) as model:
        chain = MCPCodeExecutionChain(runtime, use_model(model), attempts=1, fallback="raise")
        with pytest.raises(Error, match="1 programs did not succeed"):
            chain.invoke("the sum?")
    assert chain.counts == {"raised": 1}


def test_the_parts_of_a_stream_add_up_to_the_output(runtime: BlockingRuntime) -> None:
    with ModelServer([GOOD, SAID]) as model:
        parts: list[Any] = list(MCPCodeExecutionChain(runtime, use_model(model)).stream("the sum?"))
    whole = parts[0]
    for part in parts[1:]:
        whole += part
    assert [part["answer"] for part in parts if part.get("answer")] == ["The", " sum", " is", " 44,850."]
    assert (whole["answer"], whole["mode"], whole["usage"]["interpret"]["total_tokens"]) == (SAID.text, "code", 107)


def test_it_composes_retries_calls_back_and_runs_on_an_event_loop(runtime: BlockingRuntime) -> None:
    class Listening(BaseCallbackHandler):
        """Counts models that were started."""

        started = 0

        def on_chat_model_start(self, *_args: Any, **_options: Any) -> None:
            self.started += 1

    listening = Listening()
    with ModelServer(lambda request: SAID if "was executed" in request.last_text else GOOD) as model:
        chain = MCPCodeExecutionChain(runtime, use_model(model)).as_chain()
        shout: Any = chain.with_retry().with_config(callbacks=[listening]) | RunnableLambda(shout_answer)  # pyright: ignore[reportUnknownVariableType]
        assert shout.invoke("the sum?") == "THE SUM IS 44,850."
        assert shout.batch(["the sum?", "and now?"]) == ["THE SUM IS 44,850."] * 2
        assert asyncio.run(shout.ainvoke("the sum?")) == "THE SUM IS 44,850."
    assert listening.started == 8


def shout_answer(done: Any) -> str:
    return done["answer"].upper()


def test_settings_that_make_no_sense_are_refused(runtime: BlockingRuntime) -> None:
    with ModelServer([]) as model, pytest.raises(ConfigError, match="from 1 to 10"):
        MCPCodeExecutionChain(runtime, use_model(model), attempts=0)
