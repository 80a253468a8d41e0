"""Learning from use."""

import json

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.catalog.search.usage_habits import MAX_HABITS, MAX_LIFT, UsageHabits
from gristmill.model import Tool

TOOLS = tuple(Tool(server=f"s{i}", name="search", description="Search for things.") for i in range(5))
INDEX = ToolIndex.build((*TOOLS, Tool(server="mail", name="send", description="Send an email.")))


def test_a_tool_called_after_a_question_rises_for_a_similar_one():
    similar = "search recipes in my notes"
    last = INDEX.search(similar, 5)[-1].tool.key

    habits = UsageHabits().with_calls("search my notes for recipes", [last])

    assert INDEX.search(similar, 1, habits=habits)[0].tool.key == last


def test_an_unrelated_question_is_answered_as_before():
    habits = UsageHabits().with_calls("search my notes for recipes", ["s4.search"])

    assert INDEX.search("send an email", 5, habits=habits) == INDEX.search("send an email", 5)


def test_a_habit_does_not_outweigh_a_clear_match():
    habits = UsageHabits()
    for _ in range(50):
        habits = habits.with_calls("send", ["s0.search"])

    assert max(habits.score_lifts("send").values()) <= MAX_LIFT


def test_habits_fade_when_others_are_recorded():
    habits = UsageHabits().with_calls("alpha beta", ["a.b"])
    fresh = habits.score_lifts("alpha beta")["a.b"]
    for i in range(200):
        habits = habits.with_calls(f"question{i}", ["c.d"])

    assert habits.score_lifts("alpha beta")["a.b"] < fresh


def test_habits_are_bounded_and_the_weakest_go_first():
    habits = UsageHabits().with_calls("kept often", ["a.b"]).with_calls("kept often", ["a.b"])
    for i in range(MAX_HABITS + 50):
        habits = habits.with_calls(f"question{i}", ["c.d"])

    assert len(habits.entries) == MAX_HABITS
    assert "a.b" in habits.score_lifts("kept often")


def test_habits_survive_json_and_hold_no_readable_question():
    habits = UsageHabits().with_calls("invoices of Ada Lovelace", ["crm.search", "crm.get"])

    text = json.dumps(habits.to_json())

    assert UsageHabits.from_json(json.loads(text)) == habits
    assert "ada" not in text.lower()
    assert "invoice" not in text.lower()


def test_malformed_habits_are_left_out():
    saved = UsageHabits().with_calls("x", ["a.b"]).to_json()
    good = saved["habits"]
    bad = [None, {}, {"words": ["x"], "tool": 3, "weight": 1}, {"words": ["x"], "tool": "a", "weight": float("nan")}]

    assert UsageHabits.from_json({**saved, "habits": [*bad, *good]}) == UsageHabits.from_json(saved) != UsageHabits()
    assert UsageHabits.from_json("nonsense") == UsageHabits()


def test_habits_of_the_first_release_are_read_and_those_of_a_later_format_are_not():
    habits = UsageHabits().with_calls("x", ["a.b"])
    saved = habits.to_json()

    assert UsageHabits.from_json(saved["habits"]) == habits
    assert UsageHabits.from_json({**saved, "format": saved["format"] + 1}) == UsageHabits()


def test_a_question_without_words_or_calls_teaches_nothing():
    assert UsageHabits().with_calls("the of", ["a.b"]) == UsageHabits()
    assert UsageHabits().with_calls("search", []) == UsageHabits()


def test_a_tool_that_no_longer_exists_is_not_found():
    habits = UsageHabits().with_calls("search", ["gone.tool"])

    assert INDEX.search("search", 3, habits=habits) == INDEX.search("search", 3)
