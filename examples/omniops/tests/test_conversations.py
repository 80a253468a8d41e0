"""Figures of support are those of the conversations themselves, and a report is computed once."""

from collections.abc import Callable
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from examples.omniops.conversations import KEPT, Conversations
from examples.omniops.stored import open_records
from examples.omniops.talk import CONVERSATIONS, OPENINGS
from examples.records import Records

YEAR = ("2025-07-01", "2026-07-31")
SUPPORT: dict[str, Callable[[Conversations], Any]] = {
    "list_conversations": lambda tools: tools.list_conversations("2026-03-01", "2026-03-31", topic="refund"),
    "get_messages": lambda tools: tools.get_messages(17),
    "analyze_conversation": lambda tools: tools.analyze_conversation(17),
    "get_metrics": lambda tools: [tools.get_metrics(*YEAR, group) for group in ("total", "topic", "channel", "agent", "month")],
    "conversation_report": lambda tools: tools.conversation_report("2026-03"),
    "a month without one": lambda tools: tools.conversation_report("1999-01"),
}


@pytest.fixture(scope="module")
def records() -> Records:
    return open_records(None)


@pytest.fixture
def tools(records: Records) -> Conversations:
    return Conversations(records)


@pytest.mark.parametrize("group", ["topic", "channel", "agent", "day", "month"])
def test_groups_add_up_to_all_conversations(tools: Conversations, group: Any) -> None:
    groups, (total,) = tools.get_metrics(*YEAR, group), tools.get_metrics(*YEAR)

    assert sum(each["conversations"] for each in groups) == total["conversations"] == CONVERSATIONS
    resolved = sum(each["conversations"] * each["resolved_percent"] for each in groups) / CONVERSATIONS
    assert resolved == pytest.approx(total["resolved_percent"], abs=0.1)
    assert sum(each["rated"] for each in groups) == total["rated"]


def test_metrics_are_those_of_the_rows(tools: Conversations) -> None:
    rows = tools.list_conversations("2026-03-01", "2026-03-31", topic="refund")
    (metrics,) = [each for each in tools.get_metrics("2026-03-01", "2026-03-31", "topic") if each["name"] == "refund"]

    assert metrics["conversations"] == len(rows) > 20
    assert metrics["escalated_percent"] == round(100 * sum(row["status"] == "escalated" for row in rows) / len(rows), 1)
    assert metrics["minutes"] == pytest.approx(sum(row["minutes"] for row in rows) / len(rows), abs=0.051)
    ratings = [row["rating"] for row in rows if row["rating"] is not None]
    assert (metrics["rated"], metrics["rating"]) == (len(ratings), pytest.approx(sum(ratings) / len(ratings), abs=0.0051))


@pytest.mark.parametrize("status", ["resolved", "escalated"])
def test_an_analysis_tells_how_a_conversation_went(tools: Conversations, status: str) -> None:
    row = tools.list_conversations(*YEAR, topic="complaint", status=status, limit=1)[0]
    messages = tools.get_messages(row["id"])
    found = tools.analyze_conversation(row["id"])

    assert (found["conversation"], row["messages"]) == (row, len(messages))
    assert found["first_mood"] == -1, "it is a complaint"
    assert (found["last_mood"] > 0) is (status == "resolved")
    assert found["asks_for_manager"] is (status == "escalated")
    assert found["orders"] == [row["order_id"]]
    assert found["longest_wait_minutes"] >= row["first_reply_minutes"]
    assert found["questions"] == sum(each["text"].count("?") for each in messages if each["author"] == "customer")


def test_a_report_is_computed_once_and_only_so_many_are_kept(tools: Conversations) -> None:
    first, second = tools.conversation_report("2026-03"), tools.conversation_report("2026-03")

    assert (first["is_cached"], second["is_cached"]) == (False, True)
    assert {**second, "is_cached": False} == first
    assert {each["name"] for each in first["by_topic"]} == set(OPENINGS)
    assert 5 < first["orders_percent"] < 50
    for place in range(KEPT):
        tools.conversation_report(f"{1000 + place}-01")
    assert not tools.conversation_report("2026-03")["is_cached"]


def test_a_month_without_conversations_is_empty_and_an_unknown_one_is_an_error(tools: Conversations) -> None:
    report = tools.conversation_report("1999-01")

    assert (report["total"]["conversations"], report["by_topic"], report["orders_percent"]) == (0, [], 0.0)
    for ask in (tools.analyze_conversation, tools.get_messages):
        with pytest.raises(ToolError, match="no such record"):
            ask(CONVERSATIONS + 1)
