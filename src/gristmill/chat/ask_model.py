"""Asks the model once: its text and its programs are told as they come, and what a provider fails at is tried again or named."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, cast

from langchain_core.exceptions import ContextOverflowError, ModelError
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.utils import message_chunk_to_message
from langchain_core.runnables import Runnable
from langchain_core.utils.json import parse_partial_json
from msgspec import Struct

from gristmill.chat.chat_events import ChatEvent, CodeDelta, ModelDelayed, TextDelta
from gristmill.chat.code_blocks import find_marked_program
from gristmill.chat.mode_prompts import EXECUTE
from gristmill.config.sections.chat_section import ChatConfig
from gristmill.errors import Error, ModelBusy, ModelFailed, PromptTooLong
from gristmill.harmless_text import neutralize_text
from gristmill.runtime.values.kept_conversations import ChatUsage

Tell = Callable[[ChatEvent], None]
STREAMED_CODE_CHARACTERS = 20_000
"""How much of a program is told while it is written; the whole program follows when it is executed."""
ANSWER_CHARACTERS = 2_000_000
"""The longest answer of a model that is read."""
FIRST_PAUSE_SECONDS = 1.0
PROBLEM_CHARACTERS = 500
_TOO_LONG = ("context_length_exceeded", "prompt is too long", "maximum context length", "context size", "exceed_context_size")
AnyModel = Runnable[LanguageModelInput, AIMessage]


class ModelReply(Struct, frozen=True):
    """What the model said, and what the provider counted for it."""

    message: AIMessage
    usage: ChatUsage


async def ask_model(
    model: AnyModel, messages: Sequence[BaseMessage], tell: Tell, config: ChatConfig, *, program: int, in_blocks: bool
) -> ModelReply:
    """Asks, and waits and asks again where the provider is busy or fails in passing; ``program`` numbers the next program.

    Raises:
        PromptTooLong: the messages do not fit the model's context.
        ModelBusy: the provider wants to be asked later than is waited for.
        ModelFailed: the provider refuses the request, or failed too often.
    """
    for attempt in range(config.retries + 1):
        try:
            return await _read_reply(model, messages, _Teller(tell, program, in_blocks=in_blocks), config.model_seconds)
        except Error:
            raise
        except Exception as error:  # each provider raises errors of its own
            problem, may_retry = _translate_problem(error)
        seconds = problem.retry_after if isinstance(problem, ModelBusy) and problem.retry_after is not None else None
        seconds = FIRST_PAUSE_SECONDS * 2**attempt if seconds is None else seconds
        if not may_retry or attempt == config.retries or seconds > config.retry_seconds:
            raise problem
        tell(ModelDelayed(why=str(problem), seconds=seconds))
        await asyncio.sleep(seconds)
    raise AssertionError("the last attempt returns or raises")


async def _read_reply(model: AnyModel, messages: Sequence[BaseMessage], teller: "_Teller", seconds: float) -> ModelReply:
    chunks: Any = model.astream(list(messages))
    try:
        whole = await _gather_chunks(chunks, teller, seconds)
    finally:
        await chunks.aclose()  # ends the request to the provider
    if whole is None:
        raise ModelTimeout("the provider answered with nothing")
    message = message_chunk_to_message(whole)
    assert isinstance(message, AIMessage)
    return ModelReply(message, read_usage(message))


async def _gather_chunks(chunks: AsyncIterator[Any], teller: "_Teller", seconds: float) -> AIMessageChunk | None:
    whole: AIMessageChunk | None = None
    size = 0
    while True:
        try:
            # Not `wait_for`: its inner task may outlive the turn that was stopped.
            async with asyncio.timeout(seconds):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise ModelTimeout(f"the model said nothing for {seconds:g} s") from None
        if chunk is None:
            return whole
        if not isinstance(chunk, AIMessageChunk):
            chunk = AIMessageChunk(content=str(chunk.text), tool_calls=chunk.tool_calls, usage_metadata=chunk.usage_metadata)
        whole = chunk if whole is None else whole + chunk
        size += len(str(chunk.text)) + sum(len(each.get("args") or "") for each in chunk.tool_call_chunks)
        if size > ANSWER_CHARACTERS:
            raise ModelFailed(f"the model wrote more than {ANSWER_CHARACTERS:,} characters in one answer")
        teller.tell_chunk(chunk)


class ModelTimeout(Exception):
    """The model fell silent: the request is sent again."""

    is_retryable = True


def read_usage(message: AIMessage) -> ChatUsage:
    """Returns what the provider counted for a message."""
    counted: Any = message.usage_metadata or {}
    details: Any = counted.get("input_token_details") or {}
    cached = int(details.get("cache_read") or 0)
    return ChatUsage(
        input_tokens=int(counted.get("input_tokens") or 0), output_tokens=int(counted.get("output_tokens") or 0),
        cached_tokens=cached, requests=1,
    )  # fmt: skip


class _Teller:
    """Tells the parts of one answer."""

    def __init__(self, tell: Tell, program: int, *, in_blocks: bool) -> None:
        self._tell, self._first, self._in_blocks = tell, program, in_blocks
        self._text = ""
        self._names: dict[Any, str] = {}
        self._arguments: dict[Any, str] = {}
        self._told: dict[Any, str] = {}
        self._is_over = False

    def tell_chunk(self, chunk: AIMessageChunk) -> None:
        """Tells what a chunk adds."""
        if text := str(chunk.text):
            if not self._is_over:
                self._tell(TextDelta(text=text))
            if self._in_blocks and not self._is_over:
                self._text += text
                found = find_marked_program(self._text) if "`" in text or "\n" in text else None
                self._is_over = found is not None and found.is_closed
        for part in chunk.tool_call_chunks:
            self._tell_part(part)

    def _tell_part(self, part: Any) -> None:
        place = part.get("index")
        self._names[place] = self._names.get(place) or part.get("name") or ""
        if self._names[place] != EXECUTE:
            return
        self._arguments[place] = self._arguments.get(place, "") + (part.get("args") or "")
        if len(self._arguments[place]) > STREAMED_CODE_CHARACTERS:
            return
        try:
            parsed: Any = parse_partial_json(self._arguments[place])
        except ValueError:
            return
        code, before = _read_code(parsed), self._told.get(place, "")
        if isinstance(code, str) and len(code) > len(before) and code.startswith(before):
            program = self._first + list(self._names).index(place)
            self._tell(CodeDelta(program=program, text=code[len(before) :]))
            self._told[place] = code


def _read_code(parsed: Any) -> Any:
    return cast("Mapping[str, Any]", parsed).get("code") if isinstance(parsed, dict) else None


def _translate_problem(error: Exception) -> tuple[ModelFailed, bool]:
    """Returns the error of a provider as ours, and whether it may go away by itself."""
    any_error: Any = error
    status = getattr(any_error, "status_code", None)
    said = neutralize_text(" ".join(str(error).split())[:PROBLEM_CHARACTERS])
    kind = type(error).__name__
    if isinstance(error, ContextOverflowError) or (
        status in (400, 413, None) and any(each in said.lower() for each in _TOO_LONG)
    ):
        return PromptTooLong(f"the conversation does not fit the model's context: begin a new one ({kind}: {said})"), False
    if status in (429, 503, 529):
        after = _read_retry_after(any_error)
        text = "the provider of the model is busy" + ("" if after is None else f" and asks to wait {after:g} s")
        return ModelBusy(f"{text} ({kind}: {said})", retry_after=after), True
    may_retry = bool(getattr(any_error, "is_retryable", isinstance(error, OSError | ConnectionError | TimeoutError)))
    may_retry = may_retry or kind in ("APIConnectionError", "APITimeoutError", "RemoteProtocolError", "ReadError", "APIError")
    may_retry = may_retry or (isinstance(status, int) and status >= 500) or (isinstance(error, ModelError) and error.is_retryable)
    if status in (401, 403):
        return ModelFailed(f"the provider refuses the key: check it, in the environment or the keyring ({kind})"), False
    if status == 404:
        return ModelFailed(f"the provider does not know this model: check its name ({kind}: {said})"), False
    return ModelFailed(f"the model did not answer ({kind}: {said})"), may_retry and status not in (400, 422)


def _read_retry_after(error: Any) -> float | None:
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or {}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name)) * unit
        except (TypeError, ValueError):
            continue
        if 0 <= seconds < 1e7:
            return seconds
    return None
