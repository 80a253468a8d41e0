"""Scripted answers of a model, independent of the protocol in which they are sent."""

import json
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


class ModelFailure(Struct, frozen=True):
    """An error that the provider answers instead: its HTTP status, and the seconds that it asks a client to wait."""

    status: int
    message: str = "the scripted failure"
    code: str | None = None
    retry_after: float | None = None


class ModelAnswer(Struct, frozen=True):
    """What the model says: text, calls, or both, after what it thinks.

    ``input_tokens`` and ``output_tokens`` are a quarter of the characters where they are not given; ``cached_tokens`` is the
    part of the input that the provider read from its cache, and ``cache_written_tokens`` what it wrote there. ``pause`` is
    called in the server's thread before the delta with the number ``pause_at`` is sent, and may wait. The connection is cut
    before the delta with the number ``break_at``, or an error of the provider is sent in the stream: ``break_with``.
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
    break_with: ModelFailure | None = None
    thinking: str = ""
    cache_written_tokens: int = 0


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
    question: str = ""
    """The newest text of the user, also if tools were called since."""
    step: int = 0
    """How many answers the model has given to that question."""
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


def answer_by_question(answers: Mapping[str, Sequence[ModelAnswer | ModelFailure]]) -> ModelScript:
    """Returns a script for conversations in any order: each question of a user has answers of its own.

    A question is found by its exact text, or else by the longest key that it contains; ``""`` answers all others. A failure
    that stands before an answer is given once: a client that asks again gets the answer.
    """
    keys = sorted(answers, key=len, reverse=True)
    given: set[tuple[str, int]] = set()
    lock = Lock()  # the lock keeps two threads from taking the same failure

    def take_step(request: ModelRequest) -> ModelAnswer | ModelFailure:
        found = next((key for key in (request.question, *keys) if key in answers and key in request.question), None)
        if found is None:
            return ModelFailure(400, f"the script has no answer to {request.question[:200]!r}", code="script_ended")
        said, begins = answers[found], 0
        places = [place for place, each in enumerate(said) if isinstance(each, ModelAnswer)]
        if 0 < request.step <= len(places):
            begins = places[request.step - 1] + 1
        ends = places[request.step] if request.step < len(places) else len(said)
        with lock:
            for place in range(begins, ends):
                if (found, place) not in given or place == len(said) - 1:
                    given.add((found, place))
                    return said[place]
        if request.step < len(places):
            return said[ends]
        return ModelFailure(400, f"the script has only {len(places)} answers to this question", code="script_ended")

    return take_step


def estimate_tokens(request: ModelRequest) -> int:
    """Estimates the tokens of a request: a quarter of its characters."""
    return max(1, len(json.dumps(request.body)) // 4)


def count_input(request: ModelRequest, answer: ModelAnswer) -> int:
    """Returns the input tokens of an answer."""
    return estimate_tokens(request) if answer.input_tokens is None else answer.input_tokens


def count_output(answer: ModelAnswer) -> int:
    """Returns the output tokens of an answer, those of its thinking included."""
    return max(1, count_characters(answer) // 4) if answer.output_tokens is None else answer.output_tokens


def count_characters(answer: ModelAnswer) -> int:
    """Returns how many characters the model wrote."""
    return len(answer.thinking) + len(answer.text) + sum(len(call.name) + len(str(call.arguments)) for call in answer.calls)


def split_text(text: str) -> list[str]:
    """Splits text into deltas of one word each, as a model streams it; together they are the text."""
    parts: list[str] = []
    for word in text.split(" "):
        parts.append(word if not parts else " " + word)
    return parts if text else []
