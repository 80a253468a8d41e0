"""Conversations on both databases: found by their owner, claimed by one process, encrypted, limited, and deleted whole."""

from typing import Any

import pytest
from msgspec.structs import replace

from gristmill.errors import Conflict, LimitExceeded, NotFound, StoreUnavailable
from gristmill.ledger.record_seal import RecordSeal
from gristmill.model import Identity
from gristmill.session.conversations.conversation_store import ConversationRules, ConversationStore
from gristmill.session.conversations.conversation_values import ChatUsage, ConversationMessage, ConversationTurn
from gristmill.store.database import Database
from tests.integration.store.conftest import Place

pytestmark = pytest.mark.anyio
ANN = Identity(tenant="acme", caller="ann")
RULES = ConversationRules(seconds=1_000.0, per_caller=3, bytes=20_000)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def open_conversations(store: Database, key: bytes = b"k" * 32, clock: Any = None) -> ConversationStore:
    return ConversationStore(store, RULES, RecordSeal(key), clock or Clock())


def make_message(number: int, turn: int = 1, text: str = "hello") -> ConversationMessage:
    return ConversationMessage(number=number, turn=turn, kind="user", body={"text": text}, folded={"text": "short"})


def make_turn(turn: int, *executions: str, **usage: Any) -> ConversationTurn:
    used = ChatUsage(input_tokens=100, output_tokens=10, cached_tokens=40, requests=1, **usage)
    return ConversationTurn(
        turn=turn, at=1.0, ms=5.0, status="answered", mode="code", model="m", executions=executions, usage=used
    )  # fmt: skip


async def test_a_conversation_is_claimed_told_and_counted(place: Place) -> None:
    store = await place.open()
    kept = open_conversations(store)
    made = await kept.begin(ANN, title="What  did\nwe sell?" + "x" * 500, model="m", mode="code", holder="p1")
    assert made.title.startswith("What did we sell?")
    assert len(made.title) == 120
    await kept.append(made.id, "p1", [make_message(1), make_message(2, text="ä" * 50)])
    with pytest.raises(Conflict):
        await kept.append(made.id, "p2", [make_message(3)])
    ended: dict[str, Any] = {"standing": "idle", "turns": 1, "mode": "code", "folded": 0}
    await kept.release(made.id, "p2", turn=make_turn(1), **ended)  # not the holder: nothing happens
    assert (await kept.find(made.id, ANN)).standing == "running"
    await kept.release(made.id, "p1", turn=make_turn(1, "e1", money=0.5), **ended)

    found = await kept.find(made.id, ANN)
    assert (found.standing, found.holder, found.usage.money, found.turns) == ("idle", None, 0.5, 1)
    assert [message.body["text"] for message in await kept.messages(made.id)] == ["hello", "ä" * 50]
    again = await kept.claim(found, "p2")
    with pytest.raises(Conflict):
        await kept.claim(found, "p3")
    await kept.set_pending(again.id, "p2", {"context": {"a": 1}})
    await kept.release(made.id, "p2", turn=make_turn(1, "e1", "e2"), **ended)  # the same turn goes on: its costs add up
    found, (turn,) = await kept.find(made.id, ANN), await kept.turns(made.id)
    assert (found.pending, found.usage.requests, turn.usage.requests, turn.executions) == (
        {"context": {"a": 1}}, 2, 2, ("e1", "e2")
    )  # fmt: skip
    assert (found.usage.money, turn.usage.cached_tokens) == (0.5, 80)
    await store.close()


async def test_a_conversation_belongs_to_its_caller_in_its_tenant_and_is_unreadable_in_the_database(place: Place) -> None:
    store = await place.open()
    kept = open_conversations(store)
    made = await kept.begin(ANN, title="our secret", model="m", mode="code", holder="p")
    await kept.append(made.id, "p", [make_message(1, text="our secret")])
    for other in (Identity(tenant="evil", caller="ann"), Identity(tenant="acme", caller="bob")):
        with pytest.raises(NotFound):
            await kept.find(made.id, other)
        assert await kept.list(other) == ()
    rows = [
        *await store.read("SELECT title FROM conversations"),
        *await store.read("SELECT body, folded FROM conversation_messages"),
    ]
    assert not any(b"secret" in bytes(value) for row in rows for value in row if isinstance(value, bytes))
    with pytest.raises(StoreUnavailable):
        await open_conversations(store, b"x" * 32).messages(made.id)
    await store.write(("UPDATE conversation_messages SET conversation = 'another'", ()))
    with pytest.raises(StoreUnavailable):
        await kept.messages("another")  # a row that was moved to another conversation is not read there
    await store.close()


async def test_conversations_are_limited_in_number_size_and_age(place: Place) -> None:
    store, clock = await place.open(), Clock()
    kept = open_conversations(store, clock=clock)
    ids: list[str] = []
    for number in range(5):
        made = await kept.begin(ANN, title=str(number), model="m", mode="code", holder="p")
        await kept.append(made.id, "p", [make_message(1)])
        await kept.release(made.id, "p", standing="idle", turn=make_turn(1), turns=1, mode="code", folded=0)
        ids.append(made.id)
    assert [each.title for each in await kept.list(ANN)] == ["4", "3", "2"]
    newest = (await kept.list(ANN, limit=1))[0]
    assert [each.title for each in await kept.list(ANN, before=newest.used)] == ["3", "2"]
    assert await kept.messages(ids[0]) == ()

    held = await kept.claim(await kept.find(ids[4], ANN), "p")
    with pytest.raises(LimitExceeded, match="begin a new one"):
        await kept.append(held.id, "p", [make_message(2, text="x" * 20_000)])
    assert len(await kept.messages(held.id)) == 1
    await kept.unclaim(held.id, "p", "idle")
    await kept.drop_turn(held, 1)
    assert await kept.messages(held.id) == ()
    await kept.delete(replace(held))
    with pytest.raises(NotFound):
        await kept.find(held.id, ANN)
    clock.now += 2_000
    await kept.prune()
    assert await kept.list(ANN) == ()
    assert await store.read("SELECT COUNT(*) FROM conversation_turns") == [(0,)]
    await store.close()
