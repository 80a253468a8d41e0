"""Keeps the outcomes of executions, sealed: of promised ones, so that a caller who asks after a restart still gets them, and
of all others, shortened, for people who look at them later."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from gristmill.errors import StoreUnavailable
from gristmill.ledger.journal import RecordSealer
from gristmill.ledger.record_formats import mark_format, split_format
from gristmill.model import Identity, Outcome
from gristmill.store.base import Store, Transaction, Value
from gristmill.store.tenant_bytes import add_tenant_bytes, build_addition, build_deletion, read_tenant_bytes

OUTCOME_FORMAT = 2
MOST_BYTES = 32_000_000
"""A larger outcome is kept without its result and output."""
NOTED_BETWEEN_BYTES = 4 << 20
"""How many bytes of outcomes that were not promised are stored before the oldest make room."""
MOST_DELETED = 10
"""How many old outcomes are deleted together to make room."""
_PUT_OUTCOME = "INSERT INTO outcomes (id, tenant, caller, at, outcome, size) VALUES (?, ?, ?, ?, ?, ?)"
_OLDEST = "id IN (SELECT id FROM outcomes WHERE tenant = ? ORDER BY at LIMIT ?)"


class KeptOutcomes:
    """The kept outcomes, by the id of their execution. ``clock`` returns wall time."""

    def __init__(
        self, store: Store, seal: RecordSealer, clock: Callable[[], float], *, tenant_bytes: int = 1 << 62,
        noted_bytes: int = 64 << 10,
    ) -> None:  # fmt: skip
        """Sets how many bytes of outcomes are kept for one tenant; the oldest make room for new ones.

        ``noted_bytes`` is how much is kept of one that was not promised; 0 keeps none.
        """
        self._store, self._seal, self._clock, self._tenant_bytes = store, seal, clock, tenant_bytes
        self._noted_bytes, self._noted = noted_bytes, Counter[str]()
        self._making_room: asyncio.Task[None] | None = None

    async def keep(self, outcome: Outcome, *, identity: Identity) -> None:
        """Stores an outcome, after all that is written about its execution; returns when it is stored.

        One that is too large is stored without its result and output, and says so.

        Raises:
            StoreUnavailable: the outcome could not be stored.
        """
        text = msgspec.json.encode(outcome)
        if len(text) > MOST_BYTES:
            text = msgspec.json.encode(_leave_content_out(outcome, len(text)))
        sealed = self._seal.seal(mark_format(OUTCOME_FORMAT, text), _name_seal_place(outcome.id))
        row = (outcome.id, identity.tenant, identity.caller, self._clock(), sealed, len(sealed))
        await self._store.change(lambda step: self._put_outcome(step, row, identity.tenant, len(sealed)))

    def note(self, outcome: Outcome, *, identity: Identity) -> None:
        """Stores an outcome that was not promised, for people who look at it later, without waiting; a long one is cut."""
        if not self._noted_bytes:
            return
        text = msgspec.json.encode(outcome)
        if len(text) > self._noted_bytes:
            text = msgspec.json.encode(_cut_content(outcome, len(text), self._noted_bytes))
        if len(text) > 2 * self._noted_bytes:
            return  # its plan or its error alone are larger
        sealed = self._seal.seal(mark_format(OUTCOME_FORMAT, text), _name_seal_place(outcome.id))
        row = (outcome.id, identity.tenant, identity.caller, self._clock(), sealed, len(sealed))
        # Counted by what the table has, so that an outcome that is written twice is counted once.
        self._store.write_later(
            *build_deletion("outcomes", "id = ?", row[:1]),
            (_PUT_OUTCOME, row),
            build_addition("outcomes", identity.tenant, len(sealed)),
        )
        self._noted[identity.tenant] += len(sealed)
        if self._noted[identity.tenant] >= NOTED_BETWEEN_BYTES and self._making_room is None:
            self._noted[identity.tenant] = 0
            self._making_room = asyncio.create_task(self._make_room(identity.tenant))

    async def _make_room(self, tenant: str) -> None:
        try:
            await self._store.change(lambda step: self._delete_excess(step, tenant, 0))
        except StoreUnavailable:
            self._noted[tenant] = NOTED_BETWEEN_BYTES  # tried again with the next outcome
        finally:
            self._making_room = None

    def _delete_excess(self, step: Transaction, tenant: str, size: int) -> None:
        while (kept := read_tenant_bytes(step, tenant, "outcomes")) > 0 and kept + size > self._tenant_bytes:
            for sql, values in build_deletion("outcomes", _OLDEST, (tenant, MOST_DELETED)):
                step.run(sql, *values)

    def _put_outcome(self, step: Transaction, row: Sequence[Value], tenant: str, size: int) -> None:
        for sql, values in build_deletion("outcomes", "id = ?", row[:1]):
            step.run(sql, *values)
        self._delete_excess(step, tenant, size)
        step.run(_PUT_OUTCOME, *row)
        add_tenant_bytes(step, tenant, "outcomes", size)

    async def find(self, execution: str, *, identity: Identity) -> Outcome | None:
        """Returns the outcome of an execution of ``identity``, or None if it is not kept.

        Raises:
            StoreUnavailable: the outcome cannot be read, or another version kept it in a shape that this one does not know.
        """
        sql = "SELECT outcome FROM outcomes WHERE id = ? AND tenant = ? AND caller = ?"
        rows = await self._store.read(sql, execution, identity.tenant, identity.caller)
        sealed = rows[0][0] if rows else None
        if not isinstance(sealed, bytes | memoryview):
            return None
        what = f"the outcome of execution {execution}"
        opened = self._seal.open(bytes(sealed), _name_seal_place(execution))
        # Formats 1 and 2 differ in the mark alone.
        _, content = split_format(opened, newest=OUTCOME_FORMAT, what=what)
        try:
            return msgspec.json.decode(content, type=Outcome)
        except msgspec.DecodeError:
            raise StoreUnavailable(
                f"{what} was kept by another version of Gristmill, and cannot be read; `gristmill audit show {execution}` shows "
                "what it did"
            ) from None

    async def prune(self, before: float) -> None:
        """Deletes the outcomes that are older than ``before``."""
        await self._store.write(*build_deletion("outcomes", "at < ?", (before,)))


def _cut_content(outcome: Outcome, size: int, most: int) -> Outcome:
    """Returns an outcome whose output is cut, and whose result is left out, so that about ``most`` bytes are kept."""
    share = most // 4  # of letters that may take several bytes each
    advice = f"this outcome had {size:,} bytes: of its output the beginning is kept, of its result nothing (records.outcome_kb)"
    output = outcome.output if len(outcome.output) <= share else f"{outcome.output[:share]}\n... (the rest is not kept)"
    small = replace(outcome, output=output, truncated=True, content=(), advice=(*outcome.advice, advice))
    return small if len(msgspec.json.encode(small)) <= most else replace(small, result=None)


def _leave_content_out(outcome: Outcome, size: int) -> Outcome:
    advice = (
        f"this outcome had {size:,} bytes, too many to be kept after the process that executed it had ended: execute large work "
        "in a session, and write its result to a file there"
    )
    return replace(outcome, result=None, output="", truncated=True, advice=(*outcome.advice, advice))


def _name_seal_place(execution: str) -> str:
    return f"outcome/{execution}"
