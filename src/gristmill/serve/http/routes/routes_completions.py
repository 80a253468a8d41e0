"""OpenAI's chat completions with our tools behind them: ``/v1/chat/completions`` and ``/v1/models``.

The client sends the whole conversation each time, and nothing of it is kept. What the model does with tools is not shown: the
client gets the text, and ``gristmill`` beside it says which programs ran and what they wait for.
"""

import time
import uuid
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request, Response

from gristmill.chat.chat_events import ChatAnswer, ChatEvent, TextDelta, TurnAnswered
from gristmill.errors import Refused
from gristmill.runtime.values.kept_conversations import ChatUsage
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.answer_chat import answer_stream, refuse_many_streams, wait_while_connected
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.open_chats import GATEWAY_MODEL, list_models, open_chat
from gristmill.serve.http.require_scopes import EXECUTE
from gristmill.serve.http.shapes.chat_shapes import MESSAGE_CHARACTERS, CompletionAsked, CompletionMessage

_STATUSES = {"model.busy": 429, "model.prompt_too_long": 400, "model": 502, "cancelled": 499}


def add_completions(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of OpenAI's protocol."""

    @routes.post("/v1/chat/completions", tags=["chat"])
    async def chat_completions(request: Request, asked: CompletionAsked, who: Annotated[Principal, EXECUTE]) -> Response:
        """Answers a conversation in OpenAI's protocol, streamed or whole; the model has the tools of the gateway."""
        if asked.tools:
            text = "send no tools: the model has those of the gateway"
            raise Refused(text, rule="completions.tools")
        opened = open_chat(door, asked.model)
        messages = [pair for message in asked.messages if (pair := read_message(message)) is not None]
        head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": asked.model or GATEWAY_MODEL}
        if asked.stream:
            refuse_many_streams(door, who)
            encode = ChunkWriter(head, wants_usage=bool((asked.stream_options or {}).get("include_usage")))
            return answer_stream(door, who, request, await opened.complete(messages, identity=who.identity, stream=True), encode)
        answer = await wait_while_connected(request, opened.complete(messages, identity=who.identity))
        if answer.problem is not None and answer.status == "failed":
            return _answer_failure(answer)
        return _build_json({**head, **write_completion(answer)})

    @routes.get("/v1/models", tags=["chat"])
    async def chat_models(who: Annotated[Principal, EXECUTE]) -> Response:  # noqa: ARG001 - the scope is checked
        """Lists the models of the chat, in OpenAI's protocol."""
        names = list_models(door)
        rows = [{"id": name, "object": "model", "created": 0, "owned_by": GATEWAY_MODEL} for name in (GATEWAY_MODEL, *names)]
        return _build_json({"object": "list", "data": rows if names else []})


def read_message(message: CompletionMessage) -> tuple[str, str] | None:
    """Returns the role and the text of a message; None for results of tools, which are never the client's here.

    Raises:
        Refused: it is too long, or has parts that are not text.
    """
    if message.role in ("tool", "function"):
        return None
    parts = [{"type": "text", "text": message.content}] if isinstance(message.content, str) else message.content or []
    if other := next((part.get("type") for part in parts if part.get("type") != "text"), None):
        raise Refused(f"only text can be sent here, not {str(other)[:40]!r}", rule="completions.content")
    text = "".join(str(part.get("text", "")) for part in parts)
    if len(text) > MESSAGE_CHARACTERS:
        raise Refused(f"a message has at most {MESSAGE_CHARACTERS:,} characters", rule="completions.size")
    return ("system" if message.role == "developer" else message.role), text


def write_completion(answer: ChatAnswer) -> dict[str, Any]:
    """Returns an answer in OpenAI's shape, with what is ours beside it."""
    message = {"role": "assistant", "content": describe_answer(answer), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return {"object": "chat.completion", "choices": [choice], "usage": write_usage(answer.usage), "gristmill": _write_own(answer)}


def describe_answer(answer: ChatAnswer) -> str:
    """Returns the text for a client that sees nothing but text."""
    if answer.approval is None:
        return answer.text
    approval, calls = answer.approval["approval"], len(answer.approval["calls"])
    waits = (
        f"This waits for approval: {calls} calls, plan {approval}. Decide it (`gristmill approvals`, or the dashboard), "
        f"then ask me to go on with execution {answer.approval['execution']}."
    )
    return f"{answer.text}\n\n{waits}".strip()


def write_usage(usage: ChatUsage) -> dict[str, Any]:
    """Returns the usage in OpenAI's shape."""
    return {
        "prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }  # fmt: skip


class ChunkWriter:
    """Writes the events of a turn as chunks of OpenAI's stream."""

    def __init__(self, head: dict[str, Any], *, wants_usage: bool) -> None:
        self._head = {**head, "object": "chat.completion.chunk"}
        self._wants_usage, self._has_begun, self._told = wants_usage, False, ""

    def __call__(self, event: ChatEvent) -> bytes | None:
        """Returns the chunks of one event; None if the client does not see it."""
        if isinstance(event, TextDelta):
            self._told += event.text
            return self._write_text(event.text)
        return self._write_end(event.answer) if isinstance(event, TurnAnswered) else None

    def _write_text(self, text: str) -> bytes:
        first = {} if self._has_begun else {"role": "assistant"}
        self._has_begun = True
        return self._write_chunk({**first, "content": text})

    def _write_end(self, answer: ChatAnswer) -> bytes:
        if answer.status == "failed" and answer.problem is not None:
            return _encode({"error": write_error(answer)}) + b"data: [DONE]\n\n"
        whole = describe_answer(answer)
        # The text of the last step was streamed already, unless it is our own.
        rest = b"" if self._told.endswith(whole) else self._write_text(whole if not self._told else f"\n\n{whole}")
        chunks = [rest, self._write_chunk({}, "stop", _write_own(answer))]
        if self._wants_usage:
            chunks.append(_encode({**self._head, "choices": [], "usage": write_usage(answer.usage)}))
        return b"".join((*chunks, b"data: [DONE]\n\n"))

    def _write_chunk(self, delta: dict[str, Any], finish: str | None = None, own: dict[str, Any] | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _encode({**self._head, "choices": [choice], **({} if own is None else {"gristmill": own})})


def write_error(answer: ChatAnswer) -> dict[str, Any]:
    """Returns the problem of a turn in OpenAI's shape."""
    assert answer.problem is not None
    kind = "rate_limit_error" if answer.problem.code == "model.busy" else "server_error"
    code = "context_length_exceeded" if answer.problem.code == "model.prompt_too_long" else answer.problem.code
    return {"message": answer.problem.message, "type": kind, "param": None, "code": code}


def _answer_failure(answer: ChatAnswer) -> Response:
    assert answer.problem is not None
    after = answer.problem.retry_after
    headers = {} if after is None else {"Retry-After": str(max(1, round(after)))}
    status = _STATUSES.get(answer.problem.code, 500)
    return Response(msgspec.json.encode({"error": write_error(answer)}), status, headers, media_type="application/json")


def _write_own(answer: ChatAnswer) -> dict[str, Any]:
    programs = [{"execution": program.execution, "status": program.status} for program in answer.programs]
    return {
        "status": answer.status, "programs": programs, "fallback": answer.fallback, "money": answer.usage.money,
        "approval": None if answer.approval is None else answer.approval["approval"],
    }  # fmt: skip


def _build_json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")


def _encode(value: dict[str, Any]) -> bytes:
    return b"data: %s\n\n" % msgspec.json.encode(value)
