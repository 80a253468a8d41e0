"""Chats as rows of ``conversations`` and ``messages``, so that the analytics count them like any other."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from examples.records import Records

AUTHOR = "assistant"
TEXT_CHARACTERS = 20_000
"""How much is kept of one message."""


class KeptChats:
    """Writes chats into the records; ``clock`` says what time it is."""

    def __init__(self, records: Records, clock: Callable[[], datetime]) -> None:
        self._records, self._clock = records, clock

    def add_turn(self, chat: str, customer: int, domain: str, message: str, answer: str) -> int:
        """Adds a message and its answer; returns the number of the conversation, which the first turn makes."""
        now = self._clock().replace(tzinfo=None)
        at = now.isoformat(timespec="minutes")
        found = self._find(chat)
        number = int(found["id"]) if found else self._records.add(
            """INSERT INTO conversations (customer_id, order_id, channel, topic, agent, started, first_reply_minutes, minutes,
               messages, status, rating, source)
               VALUES (:customer, 0, 'chat', :domain, :agent, :at, 0, 0, 0, 'open', NULL, :chat)""",
            customer=customer, domain=domain, agent=AUTHOR, at=at, chat=chat,
        )  # fmt: skip
        for author, text in (("customer", message), (AUTHOR, answer)):
            self._records.add(
                "INSERT INTO messages (conversation_id, at, author, text) VALUES (:number, :at, :author, :text)",
                number=number, at=at, author=author, text=text[:TEXT_CHARACTERS],
            )  # fmt: skip
        minutes = int((now - datetime.fromisoformat(found["started"])).total_seconds() // 60) if found else 0
        self._records.change(
            "UPDATE conversations SET messages = messages + 2, minutes = :minutes, status = 'open' WHERE id = :number",
            minutes=max(0, minutes), number=number,
        )  # fmt: skip
        return number

    def close(self, chat: str, status: str, rating: int | None) -> int:
        """Records how a chat ended; returns the number of the conversation."""
        number = int(self._records.one(dict[str, Any], "SELECT id FROM conversations WHERE source = :chat", chat=chat)["id"])
        self._records.change(
            "UPDATE conversations SET status = :status, rating = CAST(:rating AS INTEGER) WHERE id = :number",
            status=status, rating=rating, number=number,
        )  # fmt: skip
        return number

    def _find(self, chat: str) -> dict[str, Any] | None:
        sql = "SELECT id, started FROM conversations WHERE source = :chat"
        return next(iter(self._records.rows(dict[str, Any], sql, chat=chat)), None)
