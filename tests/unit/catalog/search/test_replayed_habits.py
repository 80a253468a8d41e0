"""Learning from use makes no ranking worse: logs of questions and of the calls that followed are replayed."""

import json
import tomllib
from pathlib import Path

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.catalog.search.usage_habits import UsageHabits
from gristmill.model import Tool

ROOT = Path(__file__).parents[4]
QUESTIONS = tomllib.loads((ROOT / "bench" / "data" / "obvious_questions.toml").read_text(encoding="utf-8"))["apps"]
TOOLS = [Tool(**row) for row in json.loads((ROOT / "tests" / "data" / "obvious_tools.json").read_text(encoding="utf-8"))]
INDEX = ToolIndex.build(TOOLS)
KEYS = {tool.name: tool.key for tool in TOOLS}


def rank(question: str, wanted: str, habits: UsageHabits | None) -> int:
    return [hit.tool.name for hit in INDEX.search(question, len(TOOLS), habits=habits)].index(wanted) + 1


def test_questions_rank_no_worse_after_all_others_were_learned_from() -> None:
    before = [rank(question, wanted, None) for question, wanted in QUESTIONS]
    after: list[int] = []
    for place, (question, wanted) in enumerate(QUESTIONS):
        habits = UsageHabits()
        for other, (asked, called) in enumerate(QUESTIONS):
            if other != place:  # what is asked now was never asked before
                habits = habits.with_calls(asked, [KEYS[called]])
        after.append(rank(question, wanted, habits))

    worse = [(question, then, now) for (question, _), then, now in zip(QUESTIONS, before, after, strict=True) if now > then]
    assert not worse


def test_calls_that_had_nothing_to_do_with_the_question_do_little() -> None:
    habits = UsageHabits()
    for question, _ in QUESTIONS:
        habits = habits.with_calls(question, [KEYS["list_cards"]])

    firsts = [rank(question, wanted, habits) <= 2 for question, wanted in QUESTIONS]

    assert sum(firsts) >= 0.9 * len(firsts)
