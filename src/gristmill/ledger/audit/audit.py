"""The audit: what happened, in a chain that shows every change. Recording costs little; looking and verifying read the store."""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path

from gristmill.errors import NotFound, StoreUnavailable
from gristmill.ledger.audit.append_records import Batch, Waiting, append, prune, waiting
from gristmill.ledger.audit.audit_chain import Counter, Signer
from gristmill.ledger.audit.audit_entries import AuditEntry, AuditFilter, AuditRecord, AuditTree, Verified
from gristmill.ledger.audit.audit_rows import ROWS, entry, where
from gristmill.ledger.audit.audit_verify import verify
from gristmill.ledger.record_text import canonical
from gristmill.store.base import Store

BATCH = 512
PAUSE_SECONDS = 0.05
QUEUE_RECORDS, QUEUE_CHARACTERS = 20_000, 64_000_000
"""What may wait for a slow store; past that a record is refused, and so is what it was to tell of."""
NODES = 10_000
"""How many records a tree shows."""
EVERYTHING = AuditFilter()


class Audit:
    """Appends records and answers for them. ``folder`` holds the counter, outside the database."""

    def __init__(self, store: Store, master: bytes, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._signer = Signer(master)
        self._counter = Counter(folder / "audit.counter", self._signer)
        self._noted = self._counter.read()
        self._writer, self._number = secrets.token_hex(8), 1
        self._waiting: deque[Waiting] = deque()
        self._characters = self._recorded = self._kept = 0
        self._batch: Batch | None = None
        self._drainer: asyncio.Task[None] | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._failed: StoreUnavailable | None = None

    def record(self, *records: AuditRecord) -> None:
        """Put ``records`` at the end of the chain, soon and in this order.

        Raises:
            StoreUnavailable: too many are waiting already; what they tell of must not happen unrecorded.
        """
        if len(self._waiting) + len(records) > QUEUE_RECORDS or self._characters > QUEUE_CHARACTERS:
            raise StoreUnavailable(f"the audit cannot be written: {self._failed or 'the store is too slow'}")
        for record in records:
            self._waiting.append(made := waiting(record))
            self._characters += len(made.text)
        self._recorded += len(records)
        self._wake_soon()

    async def flush(self) -> None:
        """Return when everything recorded so far is in the store.

        Raises:
            StoreUnavailable: it is not; it is kept and tried again with the next record.
        """
        wanted = self._recorded  # not what others add meanwhile: on a busy service that never ends
        while self._kept < wanted:
            await asyncio.shield(self._wake())
            if self._failed is not None:
                raise self._failed

    async def close(self) -> None:
        """Flush, and leave no trace of this writer but its records."""
        await self.flush()
        await self._store.write(("DELETE FROM audit_writers WHERE writer = ?", (self._writer,)))

    async def verify(self) -> Verified:
        """Whether everything is there and as it was written."""
        return await verify(self._store, self._signer, self._counter.read())

    async def list(
        self, wanted: AuditFilter = EVERYTHING, *, limit: int = 100, after: int | None = None
    ) -> tuple[AuditEntry, ...]:
        """The newest records that fit; ``after`` is the number of the last one of the page before."""
        condition, values = where(wanted, after)
        rows = await self._store.read(f"{ROWS} WHERE {condition} ORDER BY seq DESC LIMIT ?", *values, limit)
        return tuple(entry(row) for row in rows)

    async def show(self, id: str, *, tenant: str | None = None) -> AuditTree:  # noqa: A002 - the record's own word
        """The record called ``id``, the last of that name, with everything that happened inside it.

        Raises:
            NotFound: there is none, or it is another tenant's.
        """
        rows = await self._store.read(f"{ROWS} WHERE id = ? ORDER BY seq DESC LIMIT 1", id)
        found = entry(rows[0]) if rows else None
        if found is None or tenant not in (None, found.record.tenant):
            raise NotFound(f"the audit has no record {id}")
        return await self._tree(found, [NODES])

    async def _tree(self, top: AuditEntry, left: "list[int]") -> AuditTree:
        rows = await self._store.read(
            f"{ROWS} WHERE parent = ? AND seq <> ? ORDER BY seq LIMIT ?", top.record.id, top.seq, left[0]
        )
        left[0] -= len(rows)
        children = [entry(row) for row in rows]
        is_leaf = {child.seq for child in children if child.record.kind == "call"}
        trees = [AuditTree(entry=one) if one.seq in is_leaf or left[0] <= 0 else await self._tree(one, left) for one in children]
        return AuditTree(entry=top, children=tuple(trees))

    async def export(self, wanted: AuditFilter = EVERYTHING) -> AsyncGenerator[str]:
        """Every record that fits as a line of JSON, oldest first, with what is needed to check the chain elsewhere."""
        condition, values = where(wanted, None)
        seq = 0
        while rows := await self._store.read(
            f"SELECT seq, hash, record FROM audit WHERE seq > ? AND {condition} ORDER BY seq LIMIT 500",  # noqa: S608
            seq, *values,
        ):  # fmt: skip
            for row in rows:
                yield f'{{"hash":{canonical(row[1])},"record":{row[2]},"seq":{row[0]}}}'
            seq = int(rows[-1][0] or 0)

    async def prune(self, before: float) -> int:
        """Delete what is older than ``before``; how many. A broken chain is evidence, and is left alone."""
        await self.flush()
        if not (await self.verify()).ok:
            return 0
        return await self._store.change(partial(prune, before=before, signer=self._signer, now=self._clock()))

    def _wake_soon(self) -> None:
        """A commit costs more than a record: those of the next moment go along. Who cannot wait flushes."""
        if self._pause is None:
            self._pause = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._wake)

    def _wake(self) -> "asyncio.Task[None]":
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if self._drainer is None or self._drainer.done():
            self._drainer = asyncio.create_task(self._drain())
        return self._drainer

    async def _drain(self) -> None:
        while self._waiting:
            # A batch that failed is tried again as it was: only so can the store tell that it is there already.
            records = tuple(self._waiting[place] for place in range(min(BATCH, len(self._waiting))))
            batch = self._batch = self._batch or Batch(self._writer, self._number, records)
            work = partial(append, batch=batch, signer=self._signer, noted=self._noted, now=self._clock())
            try:
                head = await self._store.change(work)
            except StoreUnavailable as error:
                self._failed = error
                return
            self._forget(batch)
            self._note(head.seq, head.hash)
            if 0 < len(self._waiting) < BATCH:
                self._wake_soon()  # what came meanwhile waits for company, too
                return

    def _forget(self, batch: Batch) -> None:
        for _ in batch.records:
            self._characters -= len(self._waiting.popleft().text)
        self._kept += len(batch.records)
        self._batch, self._failed, self._number = None, None, self._number + 1

    def _note(self, seq: int, hash_: str) -> None:
        self._noted = max(self._noted, seq)
        try:
            self._counter.note(seq, hash_)
        except OSError:
            pass  # the counter is a lower bound: that it lags shows less, and claims nothing false
