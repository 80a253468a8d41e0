"""Reads and writes the messages of OpenAI's chat completions, streamed and whole."""

import json
from collections.abc import Generator, Mapping
from typing import Any

from gristmill.testing.model_answers import ModelAnswer, ModelFailure, ModelRequest, count_characters, split_text

_CREATED = 1_790_000_000
_ERROR_TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}
_STOPS = {"end": "stop", "length": "length", "refusal": "stop"}


def read_openai_request(body: Mapping[str, Any], api_key: str) -> ModelRequest:
    """Reads the body of ``POST /v1/chat/completions``."""
    messages: list[Mapping[str, Any]] = list(body.get("messages", ()))
    answered = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    newest = messages[answered[-1] + 1 :] if answered else messages
    return ModelRequest(
        wire="openai",
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        system="\n".join(_read_text(message) for message in messages if message.get("role") in ("system", "developer")),
        messages=tuple(messages),
        tools=tuple(str(tool.get("function", {}).get("name", "")) for tool in body.get("tools") or ()),
        turn=len(answered),
        tool_results=tuple(_read_text(message) for message in newest if message.get("role") == "tool"),
        last_text=next((_read_text(message) for message in reversed(newest) if message.get("role") == "user"), ""),
        api_key=api_key,
        body=body,
    )


def write_openai_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> dict[str, Any]:
    """Returns the whole answer as one object."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.stop == "refusal":
        message |= {"content": None, "refusal": answer.text}
    if answer.calls:
        message["tool_calls"] = [
            {"id": call.id or f"call_{number}_{place}", "type": "function",
             "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))}}
            for place, call in enumerate(answer.calls)
        ]  # fmt: skip
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _choose_finish(answer)}
    return {
        "id": f"chatcmpl-{number}", "object": "chat.completion", "created": _CREATED, "model": request.model, "choices": [choice],
        "usage": _count_usage(request, answer), "system_fingerprint": "fp_scripted",
    }  # fmt: skip


def stream_openai_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> Generator[str]:
    """Yields the answer as server-sent events."""
    head = {
        "id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": _CREATED, "model": request.model,
        "system_fingerprint": "fp_scripted",
    }  # fmt: skip
    options: Mapping[str, Any] = request.body.get("stream_options") or {}
    wants_usage = bool(options.get("include_usage"))

    def write_chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        return _write_event({**head, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]})

    opened = [
        {"tool_calls": [{"index": place, "id": call.id or f"call_{number}_{place}", "type": "function",
                         "function": {"name": call.name, "arguments": ""}}]}
        for place, call in enumerate(answer.calls)
    ]  # fmt: skip
    part = "refusal" if answer.stop == "refusal" else "content"
    first: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    # A call without text before it is opened together with the message.
    yield write_chunk({**first, part: ""} if answer.text or not opened else {**first, **opened[0]})
    for piece in split_text(answer.text):
        yield write_chunk({part: piece})
    for place, call in enumerate(answer.calls):
        if place or answer.text:
            yield write_chunk(opened[place])
        for piece in split_text(json.dumps(dict(call.arguments))):
            yield write_chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield write_chunk({}, _choose_finish(answer))
    if wants_usage:
        yield _write_event({**head, "choices": [], "usage": _count_usage(request, answer)})
    yield "data: [DONE]\n\n"


def write_openai_failure(failure: ModelFailure) -> dict[str, Any]:
    """Returns the body of an error."""
    kind = _ERROR_TYPES.get(failure.status, "invalid_request_error")
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": failure.code}}


def _choose_finish(answer: ModelAnswer) -> str:
    return "tool_calls" if answer.calls else _STOPS[answer.stop]


def _count_usage(request: ModelRequest, answer: ModelAnswer) -> dict[str, Any]:
    sent = answer.input_tokens if answer.input_tokens is not None else max(1, len(json.dumps(request.body)) // 4)
    said = answer.output_tokens if answer.output_tokens is not None else max(1, count_characters(answer) // 4)
    return {
        "prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip


def _read_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts: list[Mapping[str, Any]] = content  # pyright: ignore[reportUnknownVariableType] - JSON of a request
        return "".join(str(part.get("text", "")) for part in parts)
    return str(content or "")


def _write_event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, separators=(',', ':'))}\n\n"
