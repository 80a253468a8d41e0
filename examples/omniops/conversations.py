"""Tools about conversations with customers: single ones, figures that the database adds up, reports that are computed once."""

import re
from datetime import datetime
from itertools import pairwise
from typing import Literal

from examples.omniops.rows import ConversationAnalysis, ConversationReport, ConversationRow, MessageRow, SupportMetrics
from examples.records import Records
from examples.serving import reads

KEPT = 240
"""Reports: those of twenty years."""
MOST_MESSAGES = 2_000
MOOD = {
    **dict.fromkeys("thank thanks great perfect helpful quick good love happy excellent nice".split(), 1),
    **dict.fromkeys(
        "late annoying broken defective disappointed terrible awful angry useless unacceptable wrong bad worst waiting".split(),
        -1,
    ),
}
"""Words that tell how a customer feels: enough for figures, not for a judgement of one person."""
_GROUPS = {
    "total": "'total'", "topic": "topic", "channel": "channel", "agent": "agent", "day": "substr(started, 1, 10)",
    "month": "substr(started, 1, 7)",
}  # fmt: skip
_ROW = "id, customer_id, order_id, channel, topic, agent, started, first_reply_minutes, minutes, messages, status, rating"
_ORDER = re.compile(r"\border #?(\d{1,9})\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z]+")


class Conversations:
    """Tools about support."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._reports: dict[str, ConversationReport] = {}

    @reads
    def list_conversations(
        self, start_date: str, end_date: str, topic: str | None = None, status: str | None = None, limit: int = 5_000
    ) -> list[ConversationRow]:
        """Conversations that began between two days (inclusive); topic is parcel, refund, product, invoice or complaint, status
        is resolved, open or escalated.
        """
        return self._records.rows(
            ConversationRow,
            f"""SELECT {_ROW} FROM conversations WHERE substr(started, 1, 10) BETWEEN :start AND :end
                AND (CAST(:topic AS TEXT) IS NULL OR topic = :topic) AND (CAST(:status AS TEXT) IS NULL OR status = :status)
                ORDER BY started, id LIMIT :limit""",
            start=start_date, end=end_date, topic=topic, status=status, limit=max(0, limit),
        )  # fmt: skip

    @reads
    def get_messages(self, conversation_id: int) -> list[MessageRow]:
        """What was written in a conversation, oldest first."""
        self._get(conversation_id)
        return self._records.rows(
            MessageRow,
            "SELECT at, author, text FROM messages WHERE conversation_id = :id ORDER BY at, id LIMIT :limit",
            id=conversation_id, limit=MOST_MESSAGES,
        )  # fmt: skip

    @reads
    def analyze_conversation(self, conversation_id: int) -> ConversationAnalysis:
        """How one conversation went: the customer's mood at first and at last, questions, the longest wait, orders named."""
        messages = self.get_messages(conversation_id)
        said = [each["text"] for each in messages if each["author"] == "customer"]
        moods = [_read_mood(text) for text in said] or [0.0]
        waits = [
            _count_minutes(one["at"], other["at"])
            for one, other in pairwise(messages)
            if one["author"] == "customer" and other["author"] != "customer"
        ]
        words = {word for text in said for word in _WORD.findall(text.lower())}
        return {
            "conversation": self._get(conversation_id),
            "mood": round(sum(moods) / len(moods), 2), "first_mood": moods[0], "last_mood": moods[-1],
            "questions": sum(text.count("?") for text in said),
            "longest_wait_minutes": max(waits, default=0),
            "orders": sorted({int(number) for text in said for number in _ORDER.findall(text)}),
            "asks_for_manager": "manager" in words,
            "asks_for_refund": bool(words & {"refund", "money"}),
        }  # fmt: skip

    @reads
    def get_metrics(
        self, start_date: str, end_date: str, group_by: Literal["total", "topic", "channel", "agent", "day", "month"] = "total"
    ) -> list[SupportMetrics]:
        """Figures of support between two days (inclusive): how many conversations, how many were resolved or escalated, how long
        they took, how they were rated; in total, or by topic, channel, agent, day or month.
        """
        return self._records.rows(
            SupportMetrics,
            f"""SELECT {_GROUPS[group_by]} AS name, count(*) AS conversations,
                round(100.0 * count(*) FILTER (WHERE status = 'resolved') / count(*), 1) AS resolved_percent,
                round(100.0 * count(*) FILTER (WHERE status = 'escalated') / count(*), 1) AS escalated_percent,
                round(avg(first_reply_minutes), 1) AS first_reply_minutes, round(avg(minutes), 1) AS minutes,
                round(avg(messages), 1) AS messages, count(rating) AS rated, round(avg(rating), 2) AS rating
                FROM conversations WHERE substr(started, 1, 10) BETWEEN :start AND :end GROUP BY 1 ORDER BY 1""",
            start=start_date, end=end_date,
        )  # fmt: skip

    @reads
    def conversation_report(self, month: str) -> ConversationReport:
        """Support in a month (YYYY-MM): figures in total, by topic and by agent, and the share of orders that led to a
        conversation; computed once, then kept.
        """
        if month in self._reports:
            return {**self._reports[month], "is_cached": True}
        span = (f"{month}-01", f"{month}-31")
        empty: SupportMetrics = {
            "name": "total", "conversations": 0, "resolved_percent": 0.0, "escalated_percent": 0.0, "first_reply_minutes": 0.0,
            "minutes": 0.0, "messages": 0.0, "rated": 0, "rating": None,
        }  # fmt: skip
        shares = self._records.rows(
            dict[str, float | None],
            """SELECT round(100.0 * count(DISTINCT c.order_id) / count(DISTINCT o.id), 1) AS share FROM orders o
               LEFT JOIN conversations c ON c.order_id = o.id WHERE substr(o.date, 1, 7) = :month HAVING count(*) > 0""",
            month=month,
        )
        report: ConversationReport = {
            "month": month, "total": next(iter(self.get_metrics(*span)), empty), "by_topic": self.get_metrics(*span, "topic"),
            "by_agent": self.get_metrics(*span, "agent"),
            "orders_percent": (shares[0]["share"] if shares else None) or 0.0, "is_cached": False,
        }  # fmt: skip
        if len(self._reports) >= KEPT:
            self._reports.pop(next(iter(self._reports)))
        self._reports[month] = report
        return report

    def _get(self, conversation: int) -> ConversationRow:
        return self._records.one(ConversationRow, f"SELECT {_ROW} FROM conversations WHERE id = :id", id=conversation)


def _read_mood(text: str) -> float:
    found = [MOOD[word] for word in _WORD.findall(text.lower()) if word in MOOD]
    return round(sum(found) / len(found), 2) if found else 0.0


def _count_minutes(start: str, end: str) -> int:
    return int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() // 60)
