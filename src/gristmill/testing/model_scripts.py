"""Reads scripts of a model from files, so that a program in any language can be tried against recorded answers."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from gristmill.errors import ConfigError
from gristmill.testing.model_answers import ModelAnswer, ModelCall, ModelFailure, ModelScript, Stop, answer_by_question


class _WrittenCall(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""


class _WrittenAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    text: str = ""
    thinking: str = ""
    code: str | None = None
    """Shorter for one call of ``execute_code``."""
    calls: list[_WrittenCall] = []
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    stop: Stop = "end"
    status: int | None = None
    retry_after: float | None = None


def read_model_script(path: Path) -> ModelScript:
    """Reads a script in JSON: an object of questions, each with the list of its answers.

    An answer is an object with ``text``, ``thinking``, ``calls`` (``name``, ``arguments``) or ``code``, and counts of tokens;
    one with ``status`` is an error of the provider, whose message is ``text``.

    Raises:
        ConfigError: the file cannot be read, or is no such script.
    """
    try:
        written = msgspec.json.decode(path.read_bytes(), type=dict[str, list[_WrittenAnswer]])
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"{path} is no script of a model: {error}") from None
    return answer_by_question({question: [_read_answer(one) for one in answers] for question, answers in written.items()})


def _read_answer(written: _WrittenAnswer) -> ModelAnswer | ModelFailure:
    if written.status is not None:
        return ModelFailure(written.status, written.text or "the scripted failure", retry_after=written.retry_after)
    calls = [ModelCall(call.name, call.arguments, call.id) for call in written.calls]
    if written.code is not None:
        calls.append(ModelCall("execute_code", {"code": written.code}))
    return ModelAnswer(
        written.text, calls, input_tokens=written.input_tokens, output_tokens=written.output_tokens,
        cached_tokens=written.cached_tokens, cache_written_tokens=written.cache_written_tokens, stop=written.stop,
        thinking=written.thinking,
    )  # fmt: skip
