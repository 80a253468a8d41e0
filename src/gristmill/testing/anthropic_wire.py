"""Reads and writes Anthropic's messages, streamed and whole."""

import json
from collections.abc import Generator, Mapping
from typing import Any

from gristmill.testing.model_answers import (
    ModelAnswer,
    ModelCall,
    ModelFailure,
    ModelRequest,
    count_input,
    count_output,
    split_text,
)

_ERROR_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 500: "api_error", 529: "overloaded_error",
}  # fmt: skip
_FINAL_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_SIGNATURE = "c2NyaXB0ZWQ="
_STOPS = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal"}


def read_anthropic_request(body: Mapping[str, Any], api_key: str) -> ModelRequest:
    """Reads the body of ``POST /v1/messages``."""
    messages: list[Mapping[str, Any]] = list(body.get("messages", ()))
    answered = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    newest = messages[answered[-1] + 1 :] if answered else messages
    blocks = [block for message in newest if message.get("role") == "user" for block in _read_blocks(message.get("content"))]
    said = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    asked = max((place for place, message in enumerate(messages) if _read_question(message)), default=-1)
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
        question=_read_question(messages[asked]) if asked >= 0 else "",
        step=sum(place > asked for place in answered),
        api_key=api_key,
        body=body,
    )


def write_anthropic_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> dict[str, Any]:
    """Returns the whole answer as one object."""
    content: list[dict[str, Any]] = []
    if answer.thinking:
        content.append({"type": "thinking", "thinking": answer.thinking, "signature": _SIGNATURE})
    if answer.text:
        content.append({"type": "text", "text": answer.text})
    content += [{**_open_call(call, number, place), "input": dict(call.arguments)} for place, call in enumerate(answer.calls)]
    stopped = {"stop_reason": _choose_stop(answer), "stop_sequence": None, "stop_details": None}
    return {
        **_write_head(request, number),
        "content": content,
        **stopped,
        "usage": {**_count_usage(request, answer), **_count_thinking(answer)},
    }


def stream_anthropic_answer(request: ModelRequest, answer: ModelAnswer, number: int) -> Generator[str]:
    """Yields the answer as server-sent events."""
    usage = _count_usage(request, answer)
    nothing = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
    head: dict[str, Any] = {**_write_head(request, number), "content": [], **nothing}
    yield _write_event({"type": "message_start", "message": {**head, "usage": {**usage, "output_tokens": 1}}})
    for place, (block, deltas) in enumerate(_list_blocks(answer, number)):
        yield _write_event({"type": "content_block_start", "index": place, "content_block": block})
        if place == 0:
            yield _write_event({"type": "ping"})
        for delta in deltas:
            yield _write_event({"type": "content_block_delta", "index": place, "delta": delta})
        yield _write_event({"type": "content_block_stop", "index": place})
    stopped = {"stop_reason": _choose_stop(answer), "stop_sequence": None, "stop_details": None}
    counted = {name: usage[name] for name in _FINAL_COUNTS}
    yield _write_event({"type": "message_delta", "delta": stopped, "usage": {**counted, **_count_thinking(answer)}})
    yield _write_event({"type": "message_stop"})


def _list_blocks(answer: ModelAnswer, number: int) -> Generator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yields each block of the answer as it is opened, with the deltas that fill it."""
    if answer.thinking:
        thought: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": piece} for piece in split_text(answer.thinking)]
        yield (
            {"type": "thinking", "thinking": "", "signature": ""},
            [*thought, {"type": "signature_delta", "signature": _SIGNATURE}],
        )
    if answer.text:
        yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in split_text(answer.text)]
    for place, call in enumerate(answer.calls):
        pieces = ["", *split_text(json.dumps(dict(call.arguments)))]
        yield _open_call(call, number, place), [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def write_anthropic_failure(failure: ModelFailure, number: int) -> dict[str, Any]:
    """Returns the body of an error."""
    kind = failure.code or _ERROR_TYPES.get(failure.status, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": failure.message}, "request_id": f"req_{number}"}


def stream_anthropic_failure(failure: ModelFailure, number: int) -> str:
    """Returns the event of an error in a stream that has begun."""
    return _write_event(write_anthropic_failure(failure, number))


def write_anthropic_headers(number: int, *, is_limited: bool) -> dict[str, str]:
    """Returns the headers of every answer: its id, and what is left of the limits."""
    limits = {"requests": 4_000, "tokens": 480_000, "input-tokens": 400_000, "output-tokens": 80_000}
    headers = {"request-id": f"req_{number}", "anthropic-organization-id": "00000000-0000-4000-8000-000000000000"}
    for name, limit in limits.items():
        headers[f"anthropic-ratelimit-{name}-limit"] = str(limit)
        headers[f"anthropic-ratelimit-{name}-remaining"] = "0" if is_limited else str(limit - 1)
        headers[f"anthropic-ratelimit-{name}-reset"] = "2026-11-01T00:00:00Z"
    return headers


def find_anthropic_problem(request: ModelRequest) -> str | None:
    """Returns why the service would refuse the conversation: calls without results, or results without calls."""
    waiting: list[str] = []
    for place, message in enumerate(request.messages):
        blocks = _read_blocks(message.get("content"))
        answered = [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        if stray := [one for one in answered if one not in waiting]:
            return (
                f"messages.{place}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {stray[0]}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if missing := [one for one in waiting if one not in answered]:
            return _describe_missing(place - 1, missing)
        waiting = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
    return _describe_missing(len(request.messages) - 1, waiting) if waiting else None


def _describe_missing(place: int, missing: list[str]) -> str:
    return (
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def describe_anthropic_overflow(tokens: int, most: int) -> ModelFailure:
    """Returns what the service answers to a conversation that is too long."""
    return ModelFailure(400, f"prompt is too long: {tokens} tokens > {most} maximum", code="invalid_request_error")


def _open_call(call: ModelCall, number: int, place: int) -> dict[str, Any]:
    given = call.id or f"toolu_{number}_{place}"
    return {"type": "tool_use", "id": given, "name": call.name, "caller": {"type": "direct"}, "input": {}}


def _choose_stop(answer: ModelAnswer) -> str:
    return "tool_use" if answer.calls else _STOPS[answer.stop]


def _write_head(request: ModelRequest, number: int) -> dict[str, Any]:
    return {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.model}


def _count_usage(request: ModelRequest, answer: ModelAnswer) -> dict[str, Any]:
    # Unlike OpenAI, Anthropic does not count what it read from its cache or wrote there among the input tokens.
    sent = max(0, count_input(request, answer) - answer.cached_tokens - answer.cache_written_tokens)
    return {
        "input_tokens": sent, "cache_creation_input_tokens": answer.cache_written_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
        "cache_creation": {"ephemeral_5m_input_tokens": answer.cache_written_tokens, "ephemeral_1h_input_tokens": 0},
        "output_tokens": count_output(answer), "service_tier": "standard", "inference_geo": "global",
    }  # fmt: skip


def _count_thinking(answer: ModelAnswer) -> dict[str, Any]:
    return {"output_tokens_details": {"thinking_tokens": len(answer.thinking) // 4}}


def _read_question(message: Mapping[str, Any]) -> str:
    """Returns the text of a user's message; none for results of tools alone and for other messages."""
    if message.get("role") != "user":
        return ""
    said = [str(block.get("text", "")) for block in _read_blocks(message.get("content")) if block.get("type") == "text"]
    return said[-1] if said else ""


def _read_blocks(content: Any) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content or ())


def _read_text(content: Any) -> str:
    return "".join(str(block.get("text", "")) for block in _read_blocks(content))


def _write_event(value: dict[str, Any]) -> str:
    return f"event: {value['type']}\ndata: {json.dumps(value, separators=(',', ':'))}\n\n"
