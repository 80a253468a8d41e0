"""Questions that name a tool in its own words, or with another verb for the same, find it first."""

import json
import tomllib
from pathlib import Path

import pytest

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.model import Tool

ROOT = Path(__file__).parents[4]
QUESTIONS = tomllib.loads((ROOT / "bench" / "data" / "obvious_questions.toml").read_text(encoding="utf-8"))
TOOLS = [Tool(**row) for row in json.loads((ROOT / "tests" / "data" / "obvious_tools.json").read_text(encoding="utf-8"))]


def test_there_are_150_obvious_questions() -> None:
    assert len(QUESTIONS["apps"]) + len(QUESTIONS["real"]) >= 150


def test_obvious_questions_find_their_tool_first_in_nine_of_ten_cases_and_nearly_always_among_three() -> None:
    index = ToolIndex.build(TOOLS)
    places = {
        question: [hit.tool.name for hit in index.search(question, len(TOOLS))].index(wanted) + 1
        for question, wanted, *_ in QUESTIONS["apps"]
    }

    late = {question: place for question, place in places.items() if place > 1}
    assert len(late) <= 0.1 * len(places), late
    assert sum(place > 3 for place in places.values()) <= 0.01 * len(places), late


@pytest.mark.parametrize(
    ("question", "name"),
    [("list expenses", "get_expenses"), ("show my expenses", "get_expenses"), ("show the expense", "get_expense")],
)
def test_a_plural_asks_for_the_tool_with_the_plural(question: str, name: str) -> None:
    assert [hit.tool.name for hit in ToolIndex.build(TOOLS).search(question, 1)] == [name]
