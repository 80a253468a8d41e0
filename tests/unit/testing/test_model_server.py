"""The scripted model server against the official SDKs as clients."""

import json
from collections.abc import Iterator
from threading import Event, Thread

import anthropic
import httpx
import httpx2
import openai
import pytest
from anthropic.types import MessageParam, ToolParam
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam

from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelRequest, ModelServer, answer_by_turn

TEXT = ModelAnswer("Hello there, you.", input_tokens=12, output_tokens=5, cached_tokens=4)
TOOLS = ModelAnswer("", [ModelCall("get_weather", {"city": "New York City"}), ModelCall("get_time")])
BOTH = ModelAnswer("I look it up.", [ModelCall("get_weather", {"city": "Paris"}, id="mine")])
QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]
ASKED: list[MessageParam] = [{"role": "user", "content": "hi"}]
OPENAI_TOOL: ChatCompletionToolUnionParam = {"type": "function", "function": {"name": "get_weather", "parameters": {}}}
ANTHROPIC_TOOL: ToolParam = {"name": "get_weather", "input_schema": {"type": "object"}}


def use_openai(model: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=model.openai_url, api_key="key", max_retries=0, timeout=30)


def use_anthropic(model: ModelServer) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=model.url, api_key="key", max_retries=0, timeout=30)


def test_the_sdk_of_openai_reads_whole_answers() -> None:
    with ModelServer([TEXT, TOOLS]) as model, use_openai(model) as client:
        text = client.chat.completions.create(model="m", messages=QUESTION)
        tools = client.chat.completions.create(model="m", messages=QUESTION, tools=[OPENAI_TOOL])
    assert text.choices[0].message.content == TEXT.text
    assert text.choices[0].finish_reason == "stop"
    assert text.usage is not None
    assert (text.usage.prompt_tokens, text.usage.completion_tokens, text.usage.total_tokens) == (12, 5, 17)
    assert text.usage.prompt_tokens_details is not None
    assert text.usage.prompt_tokens_details.cached_tokens == 4
    calls = [call.function for call in tools.choices[0].message.tool_calls or () if call.type == "function"]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("get_weather", {"city": "New York City"}),
        ("get_time", {}),
    ]
    assert tools.choices[0].finish_reason == "tool_calls"


def test_the_sdk_of_openai_reads_streamed_answers() -> None:
    with ModelServer([TEXT, TOOLS, BOTH]) as model, use_openai(model) as client:
        with client.chat.completions.stream(model="m", messages=QUESTION, stream_options={"include_usage": True}) as stream:
            text = stream.get_final_completion()
        with client.chat.completions.stream(model="m", messages=QUESTION) as stream:
            tools = stream.get_final_completion()
        with client.chat.completions.stream(model="m", messages=QUESTION) as stream:
            both = stream.get_final_completion()
    assert text.choices[0].message.content == TEXT.text
    assert text.usage is not None
    assert text.usage.total_tokens == 17
    assert [call.function.name for call in tools.choices[0].message.tool_calls or ()] == ["get_weather", "get_time"]
    assert both.choices[0].message.content == BOTH.text
    assert [call.id for call in both.choices[0].message.tool_calls or ()] == ["mine"]


def test_the_sdk_of_anthropic_reads_whole_answers() -> None:
    with ModelServer([TEXT, BOTH]) as model, use_anthropic(model) as client:
        text = client.messages.create(model="m", max_tokens=9, messages=ASKED)
        both = client.messages.create(model="m", max_tokens=9, messages=ASKED, tools=[ANTHROPIC_TOOL])
    assert [block.text for block in text.content if block.type == "text"] == [TEXT.text]
    assert (text.stop_reason, both.stop_reason) == ("end_turn", "tool_use")
    assert (text.usage.input_tokens, text.usage.cache_read_input_tokens, text.usage.output_tokens) == (8, 4, 5)
    assert [(block.id, block.name, block.input) for block in both.content if block.type == "tool_use"] == [
        ("mine", "get_weather", {"city": "Paris"})
    ]


def test_the_sdk_of_anthropic_reads_streamed_answers() -> None:
    with ModelServer([TEXT, BOTH]) as model, use_anthropic(model) as client:
        with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
            assert "".join(stream.text_stream) == TEXT.text
            text = stream.get_final_message()
        with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
            both = stream.get_final_message()
    assert text.usage.output_tokens == 5
    assert [block.type for block in both.content] == ["text", "tool_use"]
    assert [block.input for block in both.content if block.type == "tool_use"] == [{"city": "Paris"}]


def test_a_request_is_read_alike_from_both_protocols() -> None:
    seen: list[ModelRequest] = []
    with ModelServer(lambda request: seen.append(request) or TEXT) as model:
        with use_openai(model) as client:
            client.chat.completions.create(
                model="m",
                messages=[
                    {"role": "system", "content": "be brief"},
                    {"role": "user", "content": "weather?"},
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "w", "arguments": "{}"}}],
                    },
                    {"role": "tool", "tool_call_id": "1", "content": "sunny"},
                    {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
                ],
                tools=[OPENAI_TOOL],
            )
        with use_anthropic(model) as other:
            other.messages.create(
                model="m",
                max_tokens=9,
                system=[{"type": "text", "text": "be brief"}],
                messages=[
                    {"role": "user", "content": "weather?"},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "w", "input": {}}]},
                    {"role": "user", "content": [
                        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "sunny"}]},
                        {"type": "text", "text": "and now?"},
                    ]},
                ],
                tools=[ANTHROPIC_TOOL],
            )  # fmt: skip
    views = [
        (one.model, one.stream, one.system, one.tools, one.turn, one.tool_results, one.last_text, one.api_key) for one in seen
    ]
    assert [one.wire for one in seen] == ["openai", "anthropic"]
    assert views == [("m", False, "be brief", ("get_weather",), 1, ("sunny",), "and now?", "key")] * 2


def test_failures_become_the_exceptions_of_the_sdks_with_the_time_to_wait() -> None:
    busy = ModelFailure(429, "too many", retry_after=7)
    with ModelServer([busy, busy, ModelFailure(529), ModelFailure(401)]) as model:
        with use_openai(model) as client, pytest.raises(openai.RateLimitError) as first:
            client.chat.completions.create(model="m", messages=QUESTION)
        with use_anthropic(model) as other:
            with pytest.raises(anthropic.RateLimitError) as second:
                other.messages.create(model="m", max_tokens=9, messages=ASKED)
            with pytest.raises(anthropic.InternalServerError, match="overloaded_error"):
                other.messages.create(model="m", max_tokens=9, messages=ASKED)
            with pytest.raises(anthropic.AuthenticationError):
                other.messages.create(model="m", max_tokens=9, messages=ASKED)
    assert "too many" in str(first.value)
    assert [error.value.response.headers["retry-after"] for error in (first, second)] == ["7", "7"]


def test_a_script_that_is_over_says_so() -> None:
    with ModelServer([]) as model, use_openai(model) as client, pytest.raises(openai.BadRequestError, match="only 0 answers"):
        client.chat.completions.create(model="m", messages=QUESTION)


def test_a_connection_that_is_cut_is_an_error_of_the_client() -> None:
    cut = ModelAnswer("one two three", break_at=2)
    with ModelServer([cut, cut]) as model, use_openai(model) as client:
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(model="m", messages=QUESTION)
        # While a stream is read, the SDK lets errors of its HTTP library pass.
        with pytest.raises((openai.APIError, httpx.TransportError)):
            for _ in client.chat.completions.create(model="m", messages=QUESTION, stream=True):
                pass


def test_conversations_are_answered_by_their_turn_also_at_the_same_time() -> None:
    found: list[str] = []

    def talk(model: ModelServer) -> None:
        with use_openai(model) as client:
            said = list(QUESTION)
            for _ in range(3):
                answer = client.chat.completions.create(model="m", messages=said).choices[0].message.content or ""
                said.append({"role": "assistant", "content": answer})
                said.append({"role": "user", "content": "go on"})
                found.append(answer)

    with ModelServer(answer_by_turn([ModelAnswer(word) for word in ("one", "two", "three")])) as model:
        threads = [Thread(target=talk, args=(model,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        model.wait_for_requests(24)
    assert sorted(found) == sorted(["one", "two", "three"] * 8)


@pytest.fixture
def gate() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()


def test_an_answer_can_be_paused_and_a_client_that_leaves_is_noticed(gate: Event) -> None:
    with ModelServer([ModelAnswer("one two three", pause=lambda: gate.wait(30), pause_at=2)]) as model:
        with httpx2.stream("POST", f"{model.url}/v1/messages", json={"stream": True}, timeout=30) as answer:
            assert next(answer.iter_bytes()).startswith(b"event: message_start")
            assert model.abandoned == []
        gate.set()
        model.wait_for_abandoned(1)
    assert [request.wire for request in model.abandoned] == ["anthropic"]


def test_waiting_has_an_end() -> None:
    with ModelServer([]) as model, pytest.raises(TimeoutError, match="1 requests"):
        model.wait_for_requests(1, seconds=0.01)


def test_a_server_that_was_not_entered_says_what_to_do() -> None:
    with pytest.raises(RuntimeError, match="enter the server first"):
        _ = ModelServer([]).url


def test_what_a_model_thinks_and_keeps_in_its_cache_is_read_by_the_sdks() -> None:
    thought = ModelAnswer("4", thinking="two and two make four", input_tokens=100, cached_tokens=60, cache_written_tokens=30)
    with ModelServer([thought] * 3) as model:
        with use_anthropic(model) as client:
            whole = client.messages.create(model="m", max_tokens=9, messages=ASKED)
            with client.messages.stream(model="m", max_tokens=9, messages=ASKED) as stream:
                streamed = stream.get_final_message()
        with use_openai(model) as other:
            counted = other.chat.completions.create(model="m", messages=QUESTION).usage
    for message in (whole, streamed):
        assert [block.type for block in message.content] == ["thinking", "text"]
        assert [block.thinking for block in message.content if block.type == "thinking"] == [thought.thinking]
        assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (10, 60)
        assert message.usage.cache_creation_input_tokens == 30
    assert counted is not None
    assert counted.completion_tokens_details is not None
    assert counted.completion_tokens_details.reasoning_tokens == 5
    assert counted.prompt_tokens == 100


def test_an_error_in_the_middle_of_a_stream_is_the_exception_of_the_sdk() -> None:
    broken = ModelAnswer("one two three", break_at=3, break_with=ModelFailure(529, "Overloaded"))
    with ModelServer([broken, broken]) as model:
        with use_openai(model) as client, pytest.raises(openai.APIError, match="Overloaded"):
            for _ in client.chat.completions.create(model="m", messages=QUESTION, stream=True):
                pass
        with use_anthropic(model) as other, pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            for _ in other.messages.create(model="m", max_tokens=9, messages=ASKED, stream=True):
                pass
