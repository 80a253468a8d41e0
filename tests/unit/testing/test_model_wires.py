"""The answers of the scripted model server against the shapes of recorded ones."""

import json
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from gristmill.testing import ModelAnswer, ModelCall, ModelFailure, ModelServer

SHAPES: dict[str, Any] = json.loads((Path(__file__).parents[2] / "data" / "wire" / "shapes.json").read_text())
TEXT = ModelAnswer("Hello there, you.", input_tokens=12, output_tokens=5, cached_tokens=4)
TOOLS = ModelAnswer("", [ModelCall("get_weather", {"city": "New York City"}), ModelCall("get_time")])
BOTH = ModelAnswer("I look it up.", [ModelCall("get_weather", {"city": "Paris"}, id="mine")])


YOUNGER = {
    "service_tier",
    "annotations",
    "obfuscation",
    "prompt_tokens_details",
    "stop_details",
    "cache_creation",
    "inference_geo",
}
"""Fields that the older recordings lack."""


def reduce_to_shape(value: Any, without: set[str]) -> Any:
    """Keeps keys and kinds of values, as tests/data/wire/shapes.json does."""
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        return {key: reduce_to_shape(inner, without) for key, inner in found.items() if key not in without}
    if isinstance(value, list):
        shapes: list[Any] = []
        for shape in (reduce_to_shape(inner, without) for inner in cast("list[Any]", value)):
            if not shapes or shapes[-1] != shape:
                shapes.append(shape)
        return shapes
    return {str: "text", int: "number", float: "number", bool: "boolean", type(None): "null"}[type(value)]


def read_stream_shapes(text: str, without: set[str]) -> list[Any]:
    events: list[Any] = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        said = lines["data"]
        event = {"event": lines.get("event"), "data": said if said == "[DONE]" else reduce_to_shape(json.loads(said), without)}
        if not events or events[-1] != event:
            events.append(event)
    return events


def post(model: ModelServer, path: str, **body: Any) -> httpx2.Response:
    return httpx2.post(f"{model.url}{path}", json={"model": "m", "messages": [], **body}, timeout=30)


@pytest.mark.parametrize(
    ("answer", "name"),
    [(TEXT, "text"), (ModelAnswer("", [ModelCall("get_weather", {"city": "New York City"})]), "tools")],
)
def test_an_answer_has_the_shape_of_a_recorded_one_of_openai(answer: ModelAnswer, name: str) -> None:
    with ModelServer([answer, answer]) as model:
        streamed = post(model, "/v1/chat/completions", stream=True, stream_options={"include_usage": True})
        whole = post(model, "/v1/chat/completions")
    assert read_stream_shapes(streamed.text, set()) == SHAPES[f"openai stream {name}"]
    assert reduce_to_shape(whole.json(), set()) == SHAPES[f"openai whole {name}"]
    assert streamed.headers["content-type"].startswith("text/event-stream")


def test_a_refusal_has_the_shape_of_a_recorded_one_of_openai() -> None:
    refused = ModelAnswer("I cannot do that.", stop="refusal")
    with ModelServer([refused, refused]) as model:
        streamed = post(model, "/v1/chat/completions", stream=True, stream_options={"include_usage": True})
        whole = post(model, "/v1/chat/completions")
    young = YOUNGER | {"audio_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"}
    events = read_stream_shapes(streamed.text, young)
    assert all(event["data"].pop("usage") == "null" for event in events if event["data"] != "[DONE]" and event["data"]["choices"])
    assert events == SHAPES["openai stream refusal"]
    assert reduce_to_shape(whole.json(), young) == SHAPES["openai whole refusal"]


def test_an_answer_has_the_shape_of_a_recorded_one_of_anthropic() -> None:
    with ModelServer([TEXT, ModelAnswer("It is 4.", thinking="two and two"), BOTH]) as model:
        text = post(model, "/v1/messages", stream=True)
        thought = post(model, "/v1/messages")
        both = post(model, "/v1/messages", stream=True)
    assert read_stream_shapes(text.text, set()) == SHAPES["anthropic stream text"]
    assert reduce_to_shape(thought.json(), set()) == SHAPES["anthropic whole thinking and text"]
    older = read_stream_shapes(both.text, (YOUNGER - {"service_tier"}) | {"output_tokens_details"})
    older[-2]["data"]["usage"] = {"output_tokens": older[-2]["data"]["usage"]["output_tokens"]}
    assert older == SHAPES["anthropic stream text and tools"]


def test_an_error_has_the_shape_and_the_headers_of_a_recorded_one() -> None:
    with ModelServer([ModelFailure(429, retry_after=3), ModelFailure(429, retry_after=3)]) as model:
        first, second = post(model, "/v1/chat/completions"), post(model, "/v1/messages")
    assert reduce_to_shape(first.json(), set()) == SHAPES["openai failure"]
    assert reduce_to_shape(second.json(), set()) == SHAPES["anthropic failure"]
    assert first.headers["x-ratelimit-remaining-requests"] == "0"
    assert second.headers["anthropic-ratelimit-requests-remaining"] == "0"
    assert (first.headers["x-request-id"], second.headers["request-id"]) == ("req_1", "req_2")
    assert first.headers["retry-after"] == second.headers["retry-after"] == "3"
