"""Only blocks with the marker run: forty answers of models, and what is run of each."""

import json
from pathlib import Path
from typing import Any

import pytest

from gristmill.chat.code_blocks import find_marked_program

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "chat" / "block_answers.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_is_run_of_an_answer(case: dict[str, Any]) -> None:
    found = find_marked_program(case["answer"])
    assert (None if found is None else found.code) == case["run"]


def test_there_are_forty_answers_of_both_kinds() -> None:
    assert len(CASES) == 40
    assert sum(case["run"] is None for case in CASES) == 18


def test_an_end_is_told_from_an_answer_that_broke_off() -> None:
    closed, open_ = find_marked_program("```run\nprint(1)\n```\nmore"), find_marked_program("```run\nprint(1)\n")
    assert closed is not None
    assert (closed.is_closed, closed.end) == (True, len("```run\nprint(1)\n```\n"))
    assert open_ is not None
    assert not open_.is_closed
