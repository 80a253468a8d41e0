"""Scripted answers of a model, independent of the protocol in which they are sent."""

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, Literal

from msgspec import Struct, field

Wire = Literal["openai", "anthropic"]
Stop = Literal["end", "length", "refusal"]


class ModelCall(Struct, frozen=True):
    """A call of a tool that the model asks for. Without an ``id`` the server numbers it."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""


class ModelAnswer(Struct, frozen=True):
    """What the model says: text, calls, or both.

    ``input_tokens`` and ``output_tokens`` are a quarter of the characters where they are not given; ``cached_tokens`` is the
    part of the input that the provider read from its cache. ``pause`` is called in the server's thread before the delta
    with the number ``pause_at`` is sent, and may wait. The connection is cut before the delta with the number ``break_at``.
    """

    text: str = ""
    calls: Sequence[ModelCall] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int = 0
    stop: Stop = "end"
    pause: Callable[[], object] | None = None
    pause_at: int = 0
    break_at: int | None = None


class ModelFailure(Struct, frozen=True):
    """An error that the provider answers instead: its HTTP status, and the seconds that it asks a client to wait."""

    status: int
    message: str = "the scripted failure"
    code: str | None = None
    retry_after: float | None = None


class ModelRequest(Struct, frozen=True, kw_only=True):
    """A request as the model saw it. ``body`` is what was sent; the other fields are read from it, alike for both protocols."""

    wire: Wire
    model: str
    stream: bool
    system: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[str, ...]
    turn: int
    """How many answers of the model the conversation holds already."""
    tool_results: tuple[str, ...]
    """The text of each tool result after the model's last answer."""
    last_text: str
    """The text of the last message, without tool results."""
    api_key: str
    body: Mapping[str, Any]


ModelScript = Callable[[ModelRequest], ModelAnswer | ModelFailure]
"""Chooses the answer to a request. It is called in the server's threads, for several requests at the same time."""


def answer_in_order(answers: Sequence[ModelAnswer | ModelFailure]) -> ModelScript:
    """Returns a script that gives the answers in order, one per request."""
    left, lock = iter(answers), Lock()  # the lock keeps two threads from taking the same answer

    def take_next(_request: ModelRequest) -> ModelAnswer | ModelFailure:
        with lock:
            return next(left, ModelFailure(400, f"the script has only {len(answers)} answers", code="script_ended"))

    return take_next


def answer_by_turn(answers: Sequence[ModelAnswer | ModelFailure]) -> ModelScript:
    """Returns a script for many conversations: each begins at the first answer, and an answer that was lost is given again."""

    def take_turn(request: ModelRequest) -> ModelAnswer | ModelFailure:
        if request.turn < len(answers):
            return answers[request.turn]
        return ModelFailure(400, f"the script has only {len(answers)} turns", code="script_ended")

    return take_turn


def count_characters(answer: ModelAnswer) -> int:
    """Returns how many characters the model wrote."""
    return len(answer.text) + sum(len(call.name) + len(str(call.arguments)) for call in answer.calls)


def split_text(text: str) -> list[str]:
    """Splits text into deltas of one word each, as a model streams it; together they are the text."""
    parts: list[str] = []
    for word in text.split(" "):
        parts.append(word if not parts else " " + word)
    return parts if text else []
