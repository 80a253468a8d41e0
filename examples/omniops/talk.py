"""Two thousand conversations with customers about their orders, always the same; nobody real wrote them."""

import random
import sqlite3
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from examples.records import insert

CONVERSATIONS = 2_000
AGENTS = ("assistant", "mira", "jonas", "sofie")
"""The assistant answers at once, and hands over more often."""
CHANNELS = ("chat", "mail", "phone")
OPENINGS = {
    "parcel": (
        "Where is my order {order}? It should be here by now.",
        "Order {order} is late, this is annoying. When does it arrive?",
        "Can you tell me when order {order} arrives?",
    ),
    "refund": (
        "I would like a refund for order {order}, it arrived broken.",
        "The item of order {order} is defective. I am disappointed. How do I get my money back?",
    ),
    "product": (
        "Is this waterproof? I think of ordering it again, order {order} was great.",
        "Does the one from order {order} fit for a beginner?",
    ),
    "invoice": ("Could you send me the invoice of order {order}?", "The invoice of order {order} has the wrong address."),
    "complaint": (
        "Order {order} was terrible, the box was open and nobody answers. I am angry.",
        "This is the second wrong item in order {order}. Awful service.",
    ),
}
REPLIES = {
    "parcel": "I looked at the tracking of order {order}: the carrier has it, and it should arrive within two days.",
    "refund": "I am sorry about that. I opened a return for order {order}; you get the money back in five days.",
    "product": "Yes, it is made for that. It has two years of warranty.",
    "invoice": "Here is the invoice of order {order}.",
    "complaint": "I am sorry about order {order}. I checked it with the warehouse and we send the right item today.",
}
MORE = ("Are you sure? I still wait.", "And how long does that take?", "I do not understand that, can you explain?")
ANSWERS = ("Yes, I asked the warehouse about order {order}.", "It takes two to three days.", "Of course: we take care of it.")
ENDS = {
    "resolved": ("Thank you, that was helpful!", "Perfect, thanks for the quick answer.", "Great, thank you."),
    "open": ("I will wait until tomorrow then.", "Ok, I come back to you."),
    "escalated": ("This is useless, I want to speak to a manager.", "That is unacceptable, I am angry. Who is your manager?"),
}
_CHANCES = {"assistant": (78, 8, 14), "mira": (90, 6, 4), "jonas": (80, 14, 6), "sofie": (86, 9, 5)}
_WAITS = {"chat": (1, 12), "mail": (30, 600), "phone": (1, 4)}


def talk(connection: sqlite3.Connection) -> None:
    """Fill ``conversations`` and ``messages``. Its own random numbers leave the other records as they are."""
    rng = random.Random(8033)
    sql = "SELECT id, customer_id, date FROM orders ORDER BY id"
    orders = rng.sample(connection.execute(sql).fetchall(), CONVERSATIONS)
    conversations: list[Mapping[str, Any]] = []
    messages: list[Mapping[str, Any]] = []
    for number, (order, customer, day) in enumerate(sorted(orders), 1):
        written = _converse(rng, order, datetime.fromisoformat(day))
        texts = written.pop("texts")
        conversations.append({"id": number, "customer_id": customer, "order_id": order, **written})
        messages += [{"id": len(messages) + place, "conversation_id": number, **text} for place, text in enumerate(texts, 1)]
    insert(connection, "conversations", conversations)
    insert(connection, "messages", messages)


def _converse(rng: random.Random, order: int, day: datetime) -> dict[str, Any]:
    topic = rng.choices(tuple(OPENINGS), (40, 22, 16, 12, 10))[0]
    channel, agent = rng.choices(CHANNELS, (6, 3, 1))[0], rng.choices(AGENTS, (5, 2, 2, 1))[0]
    status = rng.choices(tuple(ENDS), _CHANCES[agent])[0]
    if topic == "complaint" and rng.random() < 0.3:
        status = "escalated"
    started = at = day + timedelta(days=rng.randrange(1, 9), minutes=rng.randrange(7 * 60, 22 * 60))
    texts: list[dict[str, str]] = []

    def say(author: str, text: str) -> None:
        texts.append({"at": at.isoformat(timespec="minutes"), "author": author, "text": text.format(order=order)})

    def wait() -> timedelta:
        return timedelta(minutes=0 if agent == "assistant" else rng.randint(*_WAITS[channel]))

    say("customer", rng.choice(OPENINGS[topic]))
    at += wait()
    first_reply = int((at - started).total_seconds() // 60)
    say(agent, REPLIES[topic])
    for _ in range(rng.randrange(3)):
        at += timedelta(minutes=rng.randint(1, 20))
        place = rng.randrange(len(MORE))
        say("customer", MORE[place])
        at += wait()
        say(agent, ANSWERS[place])
    at += timedelta(minutes=rng.randint(1, 15))
    say("customer", rng.choice(ENDS[status]))
    best = {"resolved": (3, 5), "open": (2, 4), "escalated": (1, 2)}[status]
    return {
        "channel": channel, "topic": topic, "agent": agent, "started": started.isoformat(timespec="minutes"),
        "first_reply_minutes": first_reply, "minutes": int((at - started).total_seconds() // 60), "messages": len(texts),
        "status": status, "rating": rng.randint(*best) if rng.random() < 0.6 else None, "source": None, "texts": texts,
    }  # fmt: skip
