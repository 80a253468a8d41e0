"""Reads and writes Anthropic's messages, streamed and whole."""

import json
from collections.abc import Generator, Mapping
from typing import Any

from gristmill.testing.model_answers import ModelAnswer, ModelCall, ModelFailure, ModelRequest, count_characters, split_text

_ERROR_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}  # fmt: skip
_STOPS = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}


def read_anthropic_request(body: Mapping[str, Any], api_key: str) -> ModelRequest:
    """Reads the body of ``POST /v1/messages``."""
    messages: list[Mapping[str, Any]] = list(body.get("messages", ()))
    answered = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    newest = messages[answered[-1] + 1 :] if answered else messages
    blocks = [block for message in newest if message.get("role") == "user" for block in _read_blocks(message.get("content"))]
    said = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return ModelRequest(
        wire="anthropic",
        model=str(body.get("model", "")),
        stream=bool(body.get("stream")),
        system="\n".join(str(block.get("text", "")) for block in _read_blocks(body.get("system"))),
        messages=tuple(messages),
        tools=tuple(str(tool.get("name", "")) for tool in body.get("tools") or ()),
        turn=len(answered),
        tool_results=tuple(_read_text(block.get("content")) for block in blocks if block.get("type") == "tool_result"),
        last_text=said[-1] if said else "",
        api_key=api_key,
        body=body,
    )


def write_anthropic_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> dict[str, Any]:
    """Returns the whole answer as one object."""
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [{**_open_call(call, number, place), "input": dict(call.arguments)} for place, call in enumerate(answer.calls)]
    stopped = {"stop_reason": _choose_stop(answer), "stop_sequence": None}
    return {**_write_head(request, number), "content": content, **stopped, "usage": _count_usage(request, answer)}


def stream_anthropic_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> Generator[str]:
    """Yields the answer as server-sent events."""
    usage = _count_usage(request, answer)
    head: dict[str, Any] = {**_write_head(request, number), "content": [], "stop_reason": None, "stop_sequence": None}
    yield _write_event({"type": "message_start", "message": {**head, "usage": {**usage, "output_tokens": 1}}})
    place = 0
    if answer.text:
        yield _write_event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
        yield _write_event({"type": "ping"})
        for piece in split_text(answer.text):
            yield _write_event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
        yield _write_event({"type": "content_block_stop", "index": 0})
        place = 1
    for index, call in enumerate(answer.calls):
        block = _open_call(call, number, index)
        yield _write_event({"type": "content_block_start", "index": place, "content_block": block})
        for piece in ["", *split_text(json.dumps(dict(call.arguments)))]:
            delta = {"type": "input_json_delta", "partial_json": piece}
            yield _write_event({"type": "content_block_delta", "index": place, "delta": delta})
        yield _write_event({"type": "content_block_stop", "index": place})
        place += 1
    stopped = {"stop_reason": _choose_stop(answer), "stop_sequence": None}
    yield _write_event({"type": "message_delta", "delta": stopped, "usage": {"output_tokens": usage["output_tokens"]}})
    yield _write_event({"type": "message_stop"})


def write_anthropic_failure(failure: ModelFailure) -> dict[str, Any]:
    """Returns the body of an error."""
    kind = failure.code or _ERROR_TYPES.get(failure.status, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}}


def _open_call(call: ModelCall, number: int, place: int) -> dict[str, Any]:
    given = call.id or f"toolu_{number}_{place}"
    return {"type": "tool_use", "id": given, "name": call.name, "caller": {"type": "direct"}, "input": {}}


def _choose_stop(answer: ModelAnswer) -> str:
    return "tool_use" if answer.calls else _STOPS[answer.stop]


def _write_head(request: ModelRequest, number: int) -> dict[str, Any]:
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.model}


def _count_usage(request: ModelRequest, answer: ModelAnswer) -> dict[str, Any]:
    sent = answer.input_tokens if answer.input_tokens is not None else max(1, len(json.dumps(request.body)) // 4)
    said = answer.output_tokens if answer.output_tokens is not None else max(1, count_characters(answer) // 4)
    return {
        # Unlike OpenAI, Anthropic does not count what it read from its cache among the input tokens.
        "input_tokens": max(0, sent - answer.cached_tokens), "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": answer.cached_tokens, "output_tokens": said, "service_tier": "standard",
    }  # fmt: skip


def _read_blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())


def _read_text(content: Any) -> str:
    return "".join(str(block.get("text", "")) for block in _read_blocks(content))


def _write_event(value: dict[str, Any]) -> str:
    return f"event: {value['type']}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"
