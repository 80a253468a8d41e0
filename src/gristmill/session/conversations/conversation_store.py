"""Keeps conversations in the store: found by their owner alone, encrypted, claimed by one process at a time, and limited."""

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gristmill.errors import Conflict, LimitExceeded, NotFound
from gristmill.model import Identity
from gristmill.session.conversations.conversation_values import (
    ChatUsage,
    Conversation,
    ConversationMessage,
    ConversationTurn,
    Standing,
)
from gristmill.store.base import Row, Store, Transaction, Value

TITLE_CHARACTERS = 120
MOST_LISTED = 1_000
_COLUMNS = (
    "id, tenant, caller, title, model, mode, created, used, turns, standing, holder, pending, folded_turns, input_tokens, "
    "output_tokens, cached_tokens, requests, money"
)
_TABLES = (("conversation_messages", "conversation"), ("conversation_turns", "conversation"), ("conversations", "id"))


class BytesSeal(Protocol):
    """Encrypts bytes for one place, and opens them again."""

    def seal(self, plain: bytes, place: str) -> bytes:
        """Seals bytes."""
        ...

    def open(self, sealed: bytes, place: str) -> bytes:
        """Opens sealed bytes."""
        ...


class ConversationRules(Struct, frozen=True, kw_only=True):
    """How long conversations are kept, how many a caller may have, and how large one may grow."""

    seconds: float
    per_caller: int
    bytes: int


class ConversationStore:
    """The conversations of all callers. Every question names the one who asks: another's conversation does not exist."""

    def __init__(
        self, store: Store, rules: ConversationRules, seal: BytesSeal, clock: Callable[[], float] = time.time
    ) -> None:  # fmt: skip
        self._store, self._rules, self._seal, self._clock = store, rules, seal, clock

    async def begin(self, owner: Identity, *, title: str, model: str, mode: str, holder: str) -> Conversation:
        """Begins a conversation that ``holder`` works on; the caller's oldest ones make room for it."""
        now, id_ = self._clock(), uuid.uuid4().hex
        made = Conversation(
            id=id_, owner=owner, title=" ".join(title.split())[:TITLE_CHARACTERS], model=model, mode=mode, created=now, used=now,
            turns=0, standing="running", usage=ChatUsage(), holder=holder,
        )  # fmt: skip
        values: tuple[Value, ...] = (
            id_, owner.tenant, owner.caller, self._seal_value(made.title, id_), model, mode, now, now, 0, "running", holder,
        )  # fmt: skip

        def work(step: Transaction) -> None:
            step.run(
                "INSERT INTO conversations (id, tenant, caller, title, model, mode, created, used, turns, standing, holder,"
                " folded_turns, bytes, input_tokens, output_tokens, cached_tokens, requests)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0)",
                *values,
            )
            surplus = step.run(
                "SELECT id FROM conversations WHERE tenant = ? AND caller = ? AND standing <> 'running'"
                " ORDER BY used DESC LIMIT 100 OFFSET ?",
                owner.tenant, owner.caller, self._rules.per_caller - 1,
            )  # fmt: skip
            for (each,) in surplus:
                _delete_rows(step, str(each))

        await self._store.change(work)
        return made

    async def find(self, conversation: str, owner: Identity) -> Conversation:
        """Returns a conversation.

        Raises:
            NotFound: there is none with that id, or it is another caller's.
        """
        rows = await self._store.read(
            f"SELECT {_COLUMNS} FROM conversations WHERE id = ? AND tenant = ? AND caller = ?",  # noqa: S608
            conversation, owner.tenant, owner.caller,
        )  # fmt: skip
        if not rows:
            raise NotFound(f"there is no conversation {conversation[:80]!r}: begin one by sending a message without an id")
        return self._read_conversation(rows[0])

    async def list(self, owner: Identity, *, limit: int = 50, before: float | None = None) -> tuple[Conversation, ...]:
        """Returns the conversations of a caller, those used last first; ``before`` continues after a page."""
        rows = await self._store.read(
            f"SELECT {_COLUMNS} FROM conversations WHERE tenant = ? AND caller = ? AND used < ?"  # noqa: S608
            " ORDER BY used DESC, id LIMIT ?",
            owner.tenant, owner.caller, before if before is not None else 1e18, max(1, min(limit, MOST_LISTED)),
        )  # fmt: skip
        return tuple(self._read_conversation(row) for row in rows)

    async def claim(self, found: Conversation, holder: str) -> Conversation:
        """Takes a conversation as it was ``found``, to work on it.

        Raises:
            Conflict: another process took it in the meantime.
        """
        now = self._clock()

        def work(step: Transaction) -> bool:
            rows = step.run("SELECT holder, standing FROM conversations WHERE id = ?", found.id)
            if not rows or rows[0] != (found.holder or "", found.standing):
                return False
            step.run("UPDATE conversations SET holder = ?, standing = 'running', used = ? WHERE id = ?", holder, now, found.id)
            return True

        if not await self._store.change(work):
            raise Conflict("another request works on this conversation: wait for its end, or stop it")
        return replace(found, holder=holder, standing="running", used=now)

    async def unclaim(self, conversation: str, holder: str, standing: Standing) -> None:
        """Gives a conversation back on which nothing was done."""
        await self._store.write(
            ("UPDATE conversations SET holder = '', standing = ? WHERE id = ? AND holder = ?", (standing, conversation, holder))
        )

    async def set_pending(self, conversation: str, holder: str, pending: Mapping[str, Any]) -> None:
        """Stores what another process needs to continue the turn that begins."""
        sealed = self._seal_value(pending, conversation)
        await self._store.write(
            ("UPDATE conversations SET pending = ? WHERE id = ? AND holder = ?", (sealed, conversation, holder))
        )

    async def release(
        self, conversation: str, holder: str, *, standing: Standing, turn: ConversationTurn, turns: int, mode: str, folded: int
    ) -> None:
        """Ends the work on a turn and records what it cost; does nothing if ``holder`` no longer holds the conversation."""
        usage = turn.usage

        def work(step: Transaction) -> None:
            rows = step.run("SELECT holder FROM conversations WHERE id = ?", conversation)
            if not rows or rows[0][0] != holder:
                return
            before = step.run(
                "SELECT input_tokens, output_tokens, cached_tokens, requests, money, executions FROM conversation_turns"
                " WHERE conversation = ? AND turn = ?",
                conversation, turn.turn,
            )  # fmt: skip
            had = _read_usage(before[0]) if before else ChatUsage()
            whole = had + usage
            executions = dict.fromkeys([*(json.loads(str(before[0][5])) if before else ()), *turn.executions])
            step.run("DELETE FROM conversation_turns WHERE conversation = ? AND turn = ?", conversation, turn.turn)
            step.run(
                "INSERT INTO conversation_turns (conversation, turn, at, ms, status, mode, model, executions, input_tokens,"
                " output_tokens, cached_tokens, requests, money) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                conversation, turn.turn, turn.at, turn.ms, turn.status, turn.mode, turn.model, json.dumps([*executions]),
                *_write_usage(whole),
            )  # fmt: skip
            held = step.run(
                "SELECT input_tokens, output_tokens, cached_tokens, requests, money FROM conversations WHERE id = ?", conversation
            )
            step.run(
                "UPDATE conversations SET holder = '', standing = ?, used = ?, turns = ?, mode = ?, folded_turns = ?,"
                " input_tokens = ?, output_tokens = ?, cached_tokens = ?, requests = ?, money = ? WHERE id = ?",
                standing, self._clock(), turns, mode, folded, *_write_usage(_read_usage(held[0]) + usage), conversation,
            )  # fmt: skip

        await self._store.change(work)

    async def append(self, conversation: str, holder: str, messages: Sequence[ConversationMessage]) -> None:
        """Stores messages at the end of a conversation.

        Raises:
            Conflict: ``holder`` does not hold the conversation any more, or it was deleted.
            LimitExceeded: the conversation would grow too large.
        """
        now = self._clock()
        rows: list[tuple[Value, ...]] = []
        for message in messages:
            body = self._seal_value(message.body, conversation)
            folded = None if message.folded is None else self._seal_value(message.folded, conversation)
            rows.append((conversation, message.number, message.turn, message.kind, body, folded, now))
        size = sum(len(value) for row in rows for value in row if isinstance(value, bytes))

        def work(step: Transaction) -> int | None:
            held = step.run("SELECT holder, bytes FROM conversations WHERE id = ?", conversation)
            if not held or held[0][0] != holder:
                return None
            whole = int(held[0][1] or 0) + size
            if whole <= self._rules.bytes:
                step.run("UPDATE conversations SET bytes = ? WHERE id = ?", whole, conversation)
                step.run_many(
                    "INSERT INTO conversation_messages (conversation, number, turn, kind, body, folded, at)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    rows,
                )
            return whole

        whole = await self._store.change(work)
        if whole is None:
            raise Conflict("this conversation was deleted, or another process continues it")
        if whole > self._rules.bytes:
            text = f"this conversation has grown to {self._rules.bytes >> 20} MB: begin a new one"
            raise LimitExceeded(text, limit="chat.conversation_mb", value=self._rules.bytes >> 20)

    async def messages(self, conversation: str, *, after_turn: int = 0) -> tuple[ConversationMessage, ...]:
        """Returns the messages of the turns after ``after_turn``, in order. The owner was checked before."""
        rows = await self._store.read(
            "SELECT number, turn, kind, body, folded, at FROM conversation_messages WHERE conversation = ? AND turn > ?"
            " ORDER BY number",
            conversation, after_turn,
        )  # fmt: skip
        return tuple(
            ConversationMessage(
                number=int(number or 0), turn=int(turn or 0), kind=kind, body=self._open_value(body, conversation),  # type: ignore[arg-type]
                folded=None if folded is None else self._open_value(folded, conversation), at=float(at or 0),
            )
            for number, turn, kind, body, folded, at in rows
        )  # fmt: skip

    async def turns(self, conversation: str) -> tuple[ConversationTurn, ...]:
        """Returns the turns with what each cost, in order. The owner was checked before."""
        rows = await self._store.read(
            "SELECT turn, at, ms, status, mode, model, executions, input_tokens, output_tokens, cached_tokens, requests, money"
            " FROM conversation_turns WHERE conversation = ? ORDER BY turn",
            conversation,
        )
        return tuple(
            ConversationTurn(
                turn=int(row[0] or 0), at=float(row[1] or 0), ms=float(row[2] or 0), status=str(row[3]), mode=str(row[4]),
                model=str(row[5]), executions=tuple(json.loads(str(row[6]))), usage=_read_usage(row[7:]),
            )
            for row in rows
        )  # fmt: skip

    async def drop_turn(self, found: Conversation, turn: int) -> None:
        """Deletes the messages of one turn, the last; what it cost stays on record."""

        def work(step: Transaction) -> None:
            step.run("DELETE FROM conversation_messages WHERE conversation = ? AND turn = ?", found.id, turn)
            step.run("UPDATE conversations SET standing = 'idle', holder = '', pending = NULL WHERE id = ?", found.id)

        await self._store.change(work)

    async def delete(self, found: Conversation) -> None:
        """Deletes a conversation for good."""
        await self._store.change(lambda step: _delete_rows(step, found.id))

    async def prune(self) -> None:
        """Deletes the conversations that were not used for too long."""
        oldest = self._clock() - self._rules.seconds
        rows = await self._store.read("SELECT id FROM conversations WHERE used < ? LIMIT 10000", oldest)
        for (each,) in rows:
            await self._store.change(lambda step, id_=str(each): _delete_rows(step, id_))

    def _read_conversation(self, row: Row) -> Conversation:
        id_, tenant, caller, title, model, mode, created, used, turns, standing, holder, pending, folded, *counts = row
        return msgspec.convert(
            {
                "id": id_, "owner": {"tenant": tenant, "caller": caller}, "title": self._open_value(title, str(id_)),
                "model": model, "mode": mode, "created": created, "used": used, "turns": turns, "standing": standing,
                "holder": holder or None, "pending": None if pending is None else self._open_value(pending, str(id_)),
                "folded_turns": folded, "usage": msgspec.to_builtins(_read_usage(counts)),
            },
            Conversation,
        )  # fmt: skip

    def _seal_value(self, value: object, conversation: str) -> bytes:
        return self._seal.seal(msgspec.json.encode(value), f"conversation {conversation}")

    def _open_value(self, sealed: Value, conversation: str) -> Any:
        assert isinstance(sealed, bytes)
        return msgspec.json.decode(self._seal.open(sealed, f"conversation {conversation}"))


def _delete_rows(step: Transaction, conversation: str) -> None:
    for table, column in _TABLES:
        step.run(f"DELETE FROM {table} WHERE {column} = ?", conversation)  # noqa: S608 - our own names


def _write_usage(usage: ChatUsage) -> tuple[Value, ...]:
    return usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.requests, usage.money


def _read_usage(row: Sequence[Value]) -> ChatUsage:
    whole = [int(value or 0) for value in row[:4]]
    money = row[4]
    return ChatUsage(
        input_tokens=whole[0], output_tokens=whole[1], cached_tokens=whole[2], requests=whole[3],
        money=None if money is None else float(money),
    )  # fmt: skip
