"""Answers the same questions in two arms, offline: tokens, time, accuracy, money, the cases that got worse first."""

import asyncio
import inspect
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from gristmill.errors import ConfigError
from gristmill.model import Json
from gristmill.rollout.sequential_bounds import Interval, Sums, bound_mean, bound_share

MOST_TASKS, MOST_LINE = 10_000, 1_000_000
CONFIDENCE = 0.95
FIGURES = ("answered", "accuracy", "tokens", "seconds", "dollars")
SCORES = ("answered", "accuracy")
_SEPARATORS = re.compile(r"(?<=\d)[,'\u2009\u202f](?=\d{3})")


class TaskAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One question. ``expected`` are texts that a right answer contains, whatever their case; without any, none is judged."""

    message: str
    id: str = ""
    context: Mapping[str, Json] = {}
    expected: tuple[str, ...] = ()


class TaskAnswer(Struct, frozen=True, kw_only=True):
    """How one arm answered a question."""

    text: str
    status: str
    seconds: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    dollars: float | None = None
    programs: int = 0
    accuracy: float | None = None

    problem: str | None = None
    """Why there is no answer."""

    @property
    def answered(self) -> float:
        """Returns 1 if there is an answer, else 0."""
        return float(self.status == "answered")

    @property
    def tokens(self) -> int:
        """Returns all tokens."""
        return self.tokens_in + self.tokens_out


class ComparedTask(Struct, frozen=True, kw_only=True):
    """One question with the answers of both arms."""

    id: str
    message: str
    old: TaskAnswer
    new: TaskAnswer


class TaskDifference(Struct, frozen=True, kw_only=True):
    """One figure of both arms: the mean of a conversation, and the interval that holds the true difference (new less old)."""

    figure: str
    old: float
    new: float
    low: float | None
    high: float | None
    verdict: str


class TaskReport(Struct, frozen=True, kw_only=True):
    """The whole comparison; ``tasks`` are those that got worse first."""

    old: str
    new: str
    confidence: float
    differences: tuple[TaskDifference, ...]
    tasks: tuple[ComparedTask, ...]


Answer = Callable[[str, TaskAsked], Awaitable[TaskAnswer]]
"""Answers a question in an arm."""
Judge = Callable[[TaskAsked, TaskAnswer], float | Awaitable[float | None] | None]
"""Says how right an answer is, from 0 to 1; None leaves that to the expected texts. It may be asynchronous."""


def read_tasks(file: Path) -> tuple[TaskAsked, ...]:
    """Reads questions, one JSON object a line: ``message``, and if wanted ``expected``, ``context`` and ``id``.

    Raises:
        ConfigError: the file cannot be read, or a line is not a question; it says which.
    """
    tasks, number = list[TaskAsked](), 0
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if len(line) > MOST_LINE or len(tasks) >= MOST_TASKS:
                    raise ConfigError(f"{file}:{number}: at most {MOST_TASKS:,} questions of {MOST_LINE:,} characters are read")
                if line.strip():
                    task = msgspec.json.decode(line, type=TaskAsked)
                    tasks.append(msgspec.structs.replace(task, id=task.id or str(number)))
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f'{file}:{number}: {error}; write {{"message": "...", "expected": ["..."]}}') from None
    if not tasks:
        raise ConfigError(
            f'{file} has no question: write one JSON object a line, such as {{"message": "...", "expected": ["42"]}}'
        )
    return tuple(tasks)


def judge_answer(text: str, expected: Sequence[str]) -> float | None:
    """Returns which share of the expected texts an answer contains, in any case and with any thousands mark; None for none."""
    if not expected:
        return None
    said = _SEPARATORS.sub("", text).casefold()
    return sum(_SEPARATORS.sub("", wanted).casefold() in said for wanted in expected) / len(expected)


async def call_judge(judge: Judge, task: TaskAsked, made: TaskAnswer) -> float | None:
    """Returns what a judge says of an answer; one that is not asynchronous works in a thread.

    Raises:
        ConfigError: it says something else than a number from 0 to 1 or None.
    """
    said: Any = judge(task, made) if inspect.iscoroutinefunction(judge) else await asyncio.to_thread(judge, task, made)
    if inspect.isawaitable(said):
        said = await said
    if said is None:
        return None
    if not isinstance(said, int | float) or not 0 <= said <= 1:
        raise ConfigError(f"the judge said {said!r:.100} of question {task.id}: return a number from 0 to 1, or None")
    return float(said)


async def compare_tasks(
    tasks: Sequence[TaskAsked], arms: tuple[str, str], answer: Answer, tell: Callable[[int, str], Any] = lambda _n, _arm: None,
    *, judge: Judge | None = None,
) -> TaskReport:  # fmt: skip
    """Asks every question in both arms, one after the other; which arm is first alternates, so that neither has warmer caches.

    ``judge`` says how right the answers are; where it does not, the expected texts do.

    Raises:
        ConfigError: the judge says something else than a number from 0 to 1 or None.
    """
    compared: list[ComparedTask] = []
    for number, task in enumerate(tasks):
        found: dict[str, TaskAnswer] = {}
        for arm in arms if number % 2 == 0 else reversed(arms):
            tell(number, arm)
            began = time.perf_counter()
            made = await answer(arm, task)
            made = msgspec.structs.replace(made, seconds=time.perf_counter() - began)
            found[arm] = msgspec.structs.replace(made, accuracy=await _find_accuracy(task, made, judge))
        compared.append(ComparedTask(id=task.id, message=task.message, old=found[arms[0]], new=found[arms[1]]))
    alpha = (1 - CONFIDENCE) / len(FIGURES)
    differences = [one for figure in FIGURES if (one := _compare_figure(figure, compared, alpha)) is not None]
    return TaskReport(
        old=arms[0], new=arms[1], confidence=CONFIDENCE, differences=tuple(differences),
        tasks=tuple(sorted(compared, key=_rank_change, reverse=True)),
    )  # fmt: skip


async def _find_accuracy(task: TaskAsked, made: TaskAnswer, judge: Judge | None) -> float | None:
    """Returns how right an answer is; without an answer nothing is right, where anything is judged at all."""
    if made.status != "answered":
        return None if judge is None and not task.expected else 0.0
    right = None if judge is None else await call_judge(judge, task, made)
    return judge_answer(made.text, task.expected) if right is None else right


def _rank_change(task: ComparedTask) -> tuple[float, bool, float]:
    """Ranks a case by how much worse it got: less right, then failed, then more tokens."""
    lost = (task.old.accuracy or 0.0) - (task.new.accuracy or 0.0)
    failed = task.old.status == "answered" and task.new.status != "answered"
    return lost, failed, float(task.new.tokens - task.old.tokens)


def _compare_figure(figure: str, compared: Sequence[ComparedTask], alpha: float) -> TaskDifference | None:
    pairs = [
        (float(old), float(new))
        for task in compared
        if (old := getattr(task.old, figure)) is not None and (new := getattr(task.new, figure)) is not None
    ]
    if not pairs:
        return None
    changes = [new - old for old, new in pairs]
    interval = _bound_paired(changes, alpha, is_score=figure in SCORES)
    verdict = "not known yet"
    if interval is not None and (interval.low > 0 or interval.high < 0):
        verdict = "better" if (interval.low > 0) == (figure in SCORES) else "worse"
    return TaskDifference(
        figure=figure, old=sum(old for old, _ in pairs) / len(pairs), new=sum(new for _, new in pairs) / len(pairs),
        low=interval.low if interval else None, high=interval.high if interval else None, verdict=verdict,
    )  # fmt: skip


def _bound_paired(changes: Sequence[float], alpha: float, *, is_score: bool) -> Interval | None:
    """Returns the interval of the mean change: of scores exact for any number (moved into 0 to 1), of others from 50 on."""
    values = [(change + 1) / 2 for change in changes] if is_score else list(changes)
    sums = Sums(count=len(values), total=sum(values), squares=sum(value * value for value in values))
    if not is_score:
        return bound_mean(sums, alpha)
    found = bound_share(sums, alpha)
    return Interval(value=2 * found.value - 1, low=2 * found.low - 1, high=2 * found.high - 1)
