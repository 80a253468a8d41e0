"""Judges of the user: from a file or a module, and what is said when they fail."""

import asyncio
import sys
from pathlib import Path

import pytest

from gristmill.errors import ConfigError
from gristmill.rollout.compare_tasks import TaskAnswer, TaskAsked, call_judge
from gristmill.serve.cli.terminal.load_judge import load_judge

TASK, ANSWER = TaskAsked(message="how many?", id="seven"), TaskAnswer(text="42", status="answered")
JUDGES = """
def judge(task, answer):
    return answer.text == "42"

async def later(task, answer):
    return 0.5

def fail(task, answer):
    1 / 0

def talk(task, answer):
    return "very good"

number = 3
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "my_judges.py").write_text(JUDGES)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return tmp_path / "my_judges.py"


def ask(named: str) -> float | None:
    return asyncio.run(call_judge(load_judge(named), TASK, ANSWER))


def test_a_judge_is_a_function_of_a_file_or_a_module_and_may_be_asynchronous(file: Path) -> None:
    assert [ask(f"{file}:judge"), ask(f"{file}:later"), ask("my_judges:later")] == [1.0, 0.5, 0.5]


@pytest.mark.parametrize(("name", "said"), [("fail", "failed on question seven: ZeroDivisionError"), ("talk", "'very good'")])
def test_a_judge_that_fails_names_the_question(file: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        ask(f"{file}:{name}")


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("judge", "write FILE.py:FUNCTION"), ("my_judges:none", "has no function 'none'"), ("my_judges:number", "has no function"),
        ("nowhere.py:judge", "cannot be loaded: FileNotFoundError"), ("no_such_module:judge", "cannot be loaded: ModuleNotFound"),
    ],
)  # fmt: skip
def test_a_judge_that_is_not_there_is_named(file: Path, named: str, said: str) -> None:
    assert file.exists()
    with pytest.raises(ConfigError, match=said):
        load_judge(named)
