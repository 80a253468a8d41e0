"""Reads and writes the messages of OpenAI's chat completions, streamed and whole."""

import json
from collections.abc import Generator, Mapping
from typing import Any

from gristmill.testing.model_answers import ModelAnswer, ModelFailure, ModelRequest, count_input, count_output, split_text

_CREATED = 1_790_000_000
_ERROR_TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}
_ERROR_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_STOPS = {"end": "stop", "length": "length", "refusal": "stop"}


def read_openai_request(body: Mapping[str, Any], api_key: str) -> ModelRequest:
    """Reads the body of ``POST /v1/chat/completions``."""
    messages: list[Mapping[str, Any]] = list(body.get("messages", ()))
    answered = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    newest = messages[answered[-1] + 1 :] if answered else messages
    asked = max((place for place, message in enumerate(messages) if message.get("role") == "user"), default=-1)
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
        question=_read_text(messages[asked]) if asked >= 0 else "",
        step=sum(place > asked for place in answered),
        api_key=api_key,
        body=body,
    )


def write_openai_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> dict[str, Any]:
    """Returns the whole answer as one object."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None, "annotations": []}
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
        "usage": _count_usage(request, answer), "service_tier": "default", "system_fingerprint": "fp_scripted",
    }  # fmt: skip


def stream_openai_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> Generator[str]:
    """Yields the answer as server-sent events."""
    head = {
        "id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": _CREATED, "model": request.model,
        "service_tier": "default", "system_fingerprint": "fp_scripted",
    }  # fmt: skip
    options: Mapping[str, Any] = request.body.get("stream_options") or {}
    wants_usage = bool(options.get("include_usage"))

    def write_chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choices = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
        # With usage every chunk has the field; padding hides how long the words are.
        return _write_event({**head, "choices": choices, **({"usage": None} if wants_usage else {}), "obfuscation": "aBc9"})

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
        yield _write_event({**head, "choices": [], "usage": _count_usage(request, answer), "obfuscation": "aBc9"})
    yield "data: [DONE]\n\n"


def write_openai_failure(failure: ModelFailure, _number: int) -> dict[str, Any]:
    """Returns the body of an error."""
    kind = _ERROR_TYPES.get(failure.status, "invalid_request_error")
    code = failure.code or _ERROR_CODES.get(failure.status)
    return {"error": {"message": failure.message, "type": kind, "param": None, "code": code}}


def stream_openai_failure(failure: ModelFailure, number: int) -> str:
    """Returns the event of an error in a stream that has begun."""
    return _write_event(write_openai_failure(failure, number))


def write_openai_headers(number: int, *, is_limited: bool) -> dict[str, str]:
    """Returns the headers of every answer: its id, and what is left of the limits."""
    left = 0 if is_limited else 1
    return {
        "x-request-id": f"req_{number}", "openai-version": "2020-10-01", "openai-processing-ms": "1",
        "x-ratelimit-limit-requests": "10000", "x-ratelimit-limit-tokens": "2000000",
        "x-ratelimit-remaining-requests": str(9_999 * left), "x-ratelimit-remaining-tokens": str(1_999_000 * left),
        "x-ratelimit-reset-requests": "6ms", "x-ratelimit-reset-tokens": "6m0s" if is_limited else "0s",
    }  # fmt: skip


def find_openai_problem(request: ModelRequest) -> str | None:
    """Returns why the service would refuse the conversation: calls without results, or results without calls."""
    waiting: list[str] = []
    for place, message in enumerate(request.messages):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                return (
                    f"Invalid parameter: messages with role 'tool' must be a response to a preceding message with "
                    f"'tool_calls' (messages.[{place}])."
                )
            waiting.remove(str(message["tool_call_id"]))
            continue
        if waiting:
            break
        waiting = [str(call.get("id")) for call in message.get("tool_calls") or ()]
    if waiting:
        return (
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            f"The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )
    return None


def describe_openai_overflow(tokens: int, most: int) -> ModelFailure:
    """Returns what the service answers to a conversation that is too long."""
    text = f"This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens."
    return ModelFailure(400, f"{text} Please reduce the length of the messages.", code="context_length_exceeded")


def _choose_finish(answer: ModelAnswer) -> str:
    return "tool_calls" if answer.calls else _STOPS[answer.stop]


def _count_usage(request: ModelRequest, answer: ModelAnswer) -> dict[str, Any]:
    sent, said = count_input(request, answer), count_output(answer)
    return {
        "prompt_tokens": sent, "completion_tokens": said, "total_tokens": sent + said,
        "prompt_tokens_details": {"cached_tokens": answer.cached_tokens, "audio_tokens": 0},
        # The service counts what the model thinks and does not show it.
        "completion_tokens_details": {
            "reasoning_tokens": len(answer.thinking) // 4, "audio_tokens": 0, "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }  # fmt: skip


def _read_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        parts: list[Mapping[str, Any]] = content  # pyright: ignore[reportUnknownVariableType] - JSON of a request
        return "".join(str(part.get("text", "")) for part in parts)
    return str(content or "")


def _write_event(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, separators=(',', ':'))}\n\n"
