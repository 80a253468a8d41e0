"""The same questions in two arms: what is right, what costs less, and what got worse."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gristmill.errors import ConfigError
from gristmill.rollout.compare_tasks import Judge, TaskAnswer, TaskAsked, TaskReport, compare_tasks, judge_answer, read_tasks


def compare(count: int, *, wrong: frozenset[int] = frozenset(), failing: frozenset[int] = frozenset()) -> TaskReport:
    tasks = [TaskAsked(id=str(number), message=f"question {number}", expected=("42",)) for number in range(count)]
    order: list[str] = []

    async def answer(arm: str, task: TaskAsked) -> TaskAnswer:
        order.append(arm)
        number = int(task.id)
        is_new = arm == "code"
        text = "about 41" if is_new and number in wrong else "It is 42."
        status = "failed" if is_new and number in failing else "answered"
        tokens = 100 + number if is_new else 5_000 + 10 * number
        return TaskAnswer(text=text, status=status, tokens_in=tokens, tokens_out=10, dollars=tokens / 1e6)

    report = asyncio.run(compare_tasks(tasks, ("direct", "code"), answer))
    assert order[:4] == ["direct", "code", "code", "direct"]
    return report


def test_fifty_questions_show_that_tokens_are_fewer() -> None:
    report = compare(50)
    found = {one.figure: one for one in report.differences}
    assert (found["tokens"].verdict, found["dollars"].verdict) == ("better", "better")
    assert (found["accuracy"].verdict, found["accuracy"].old, found["accuracy"].new) == ("not known yet", 1, 1)


def test_a_few_questions_show_nothing_for_certain() -> None:
    assert {one.verdict for one in compare(10).differences} == {"not known yet"}


def test_what_got_worse_comes_first_and_a_failed_answer_is_not_right() -> None:
    report = compare(60, wrong=frozenset({7}), failing=frozenset({9}))
    assert [task.id for task in report.tasks[:2]] == ["9", "7"]
    assert report.tasks[0].new.accuracy == 0
    many = compare(60, wrong=frozenset(range(30)))
    assert {one.figure: one.verdict for one in many.differences}["accuracy"] == "worse"


def ask_both(judge: Judge, *, status: str = "answered") -> list[float | None]:
    async def answer(arm: str, task: TaskAsked) -> TaskAnswer:
        return TaskAnswer(text=f"{arm} says 42 of {task.message}", status=status)

    report = asyncio.run(compare_tasks([TaskAsked(message="a", expected=("7",))], ("direct", "code"), answer, judge=judge))
    return [report.tasks[0].old.accuracy, report.tasks[0].new.accuracy]


def test_a_judge_says_how_right_answers_are_and_leaves_the_rest_to_the_expected_texts() -> None:
    def judge(task: TaskAsked, made: TaskAnswer) -> float | None:
        assert task.message == "a"
        return 0.75 if "code" in made.text else None

    async def judge_later(task: TaskAsked, made: TaskAnswer) -> float | None:
        return judge(task, made)

    assert ask_both(judge) == ask_both(judge_later) == [0, 0.75]
    assert ask_both(judge, status="failed") == [0, 0]


@pytest.mark.parametrize("said", [1.5, -1, float("nan"), "good"])
def test_a_judge_that_says_no_share_is_refused(said: Any) -> None:
    with pytest.raises(ConfigError, match="from 0 to 1"):
        ask_both(lambda _task, _made: said)


@pytest.mark.parametrize(
    ("text", "expected", "score"),
    [
        ("It is 1,234,567 in Bern", ("1234567", "BERN"), 1), ("one of two", ("one", "three"), 0.5), ("no", ("yes",), 0),
        ("1234", ("1'234",), 1), ("3,5", ("35",), 0), ("x", (), None),
    ],
)  # fmt: skip
def test_answers_are_judged_by_what_they_contain(text: str, expected: tuple[str, ...], score: float | None) -> None:
    assert judge_answer(text, expected) == score


def test_tasks_are_read_line_by_line_and_mistakes_name_their_line(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"message": "a", "expected": ["1"]}\n\n{"message": "b", "id": "two", "context": {"x": 1}}\n')
    first, second = read_tasks(file)
    assert (first.id, first.expected, second.id, second.context) == ("1", ("1",), "two", {"x": 1})
    file.write_text('{"message": "a"}\n{"mesage": "b"}\n')
    with pytest.raises(ConfigError, match=r"tasks.jsonl:2: .*mesage"):
        read_tasks(file)
    file.write_text("")
    with pytest.raises(ConfigError, match="has no question"):
        read_tasks(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tasks(tmp_path / "none.jsonl")
