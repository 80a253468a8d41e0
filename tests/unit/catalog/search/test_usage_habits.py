"""Learning from use."""

import json

from gristmill.catalog.search.tool_index import Index
from gristmill.catalog.search.usage_habits import LIFT, LIMIT, Habits
from gristmill.model import Tool

TOOLS = tuple(Tool(server=f"s{i}", name="search", description="Search for things.") for i in range(5))
INDEX = Index.build((*TOOLS, Tool(server="mail", name="send", description="Send an email.")))


def test_a_tool_called_after_a_question_rises_for_a_similar_one():
    similar = "search recipes in my notes"
    last = INDEX.search(similar, 5)[-1].tool.key

    habits = Habits().recorded("search my notes for recipes", [last])

    assert INDEX.search(similar, 1, habits=habits)[0].tool.key == last


def test_an_unrelated_question_is_answered_as_before():
    habits = Habits().recorded("search my notes for recipes", ["s4.search"])

    assert INDEX.search("send an email", 5, habits=habits) == INDEX.search("send an email", 5)


def test_a_habit_does_not_outweigh_a_clear_match():
    habits = Habits()
    for _ in range(50):
        habits = habits.recorded("send", ["s0.search"])

    assert max(habits.lifts("send").values()) <= LIFT


def test_habits_fade_when_others_are_recorded():
    habits = Habits().recorded("alpha beta", ["a.b"])
    fresh = habits.lifts("alpha beta")["a.b"]
    for i in range(200):
        habits = habits.recorded(f"question{i}", ["c.d"])

    assert habits.lifts("alpha beta")["a.b"] < fresh


def test_habits_are_bounded_and_the_weakest_go_first():
    habits = Habits().recorded("kept often", ["a.b"]).recorded("kept often", ["a.b"])
    for i in range(LIMIT + 50):
        habits = habits.recorded(f"question{i}", ["c.d"])

    assert len(habits.entries) == LIMIT
    assert "a.b" in habits.lifts("kept often")


def test_habits_survive_json_and_hold_no_readable_question():
    habits = Habits().recorded("invoices of Ada Lovelace", ["crm.search", "crm.get"])

    text = json.dumps(habits.to_json())

    assert Habits.from_json(json.loads(text)) == habits
    assert "ada" not in text.lower()
    assert "invoice" not in text.lower()


def test_malformed_habits_are_left_out():
    good = Habits().recorded("x", ["a.b"]).to_json()
    bad = [None, {}, {"words": ["x"], "tool": 3, "weight": 1}, {"words": ["x"], "tool": "a", "weight": float("nan")}]

    assert Habits.from_json([*bad, *good]).entries == Habits.from_json(good).entries
    assert Habits.from_json("nonsense") == Habits()


def test_a_question_without_words_or_calls_teaches_nothing():
    assert Habits().recorded("the of", ["a.b"]) == Habits()
    assert Habits().recorded("search", []) == Habits()


def test_a_tool_that_no_longer_exists_is_not_found():
    habits = Habits().recorded("search", ["gone.tool"])

    assert INDEX.search("search", 3, habits=habits) == INDEX.search("search", 3)
