"""The audit: records in a chain that shows every change. Recording costs little; listing and verifying read the store."""

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path

from gristmill.errors import NotFound, StoreUnavailable
from gristmill.ledger.audit.append_records import AuditBatch, WaitingRecord, append_batch, prepare_record, prune_chain
from gristmill.ledger.audit.audit_chain import AnchorSigner, AuditCounter
from gristmill.ledger.audit.audit_entries import AuditEntry, AuditFilter, AuditRecord, AuditTree, AuditVerified
from gristmill.ledger.audit.audit_rows import MOST_SORTED, NARROW_TIME, SELECT_ROWS, build_condition, parse_entry
from gristmill.ledger.audit.audit_verify import verify_beginning, verify_chain
from gristmill.ledger.record_text import encode_canonical
from gristmill.model import Identity
from gristmill.store.base import Store
from gristmill.store.id_beginning import AFTER_DIGITS, is_beginning

BATCH_RECORDS = 512
PAUSE_SECONDS = 0.05
QUEUE_RECORDS, QUEUE_CHARACTERS = 20_000, 64_000_000
"""What may wait for a slow store; beyond that a record is refused, and so is the action that it describes."""
MOST_TREE_RECORDS = 10_000
"""Most records that a tree shows."""
EXECUTION_ID_CHARACTERS = 32
EVERYTHING = AuditFilter()
MOST_TIME = 1e15
"""Later than every record."""


class Audit:
    """Appends records to the chain, and lists, verifies and prunes them. ``folder`` holds the counter, outside the database."""

    def __init__(self, store: Store, master: bytes, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self._signer = AnchorSigner(master)
        self._counter = AuditCounter(folder / "audit.counter", self._signer)
        self._highest_seq = self._counter.read()
        self._writer, self._number = secrets.token_hex(8), 1
        self._waiting: deque[WaitingRecord] = deque()
        self._characters = self._recorded = self._written = 0
        self._batch: AuditBatch | None = None
        self._writing: asyncio.Task[None] | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._last_error: StoreUnavailable | None = None

    def record(self, *records: AuditRecord) -> None:
        """Queues ``records`` for the end of the chain; they are written soon, in this order.

        Raises:
            StoreUnavailable: too many are waiting already; what they describe must not happen unrecorded.
        """
        if len(self._waiting) + len(records) > QUEUE_RECORDS or self._characters > QUEUE_CHARACTERS:
            raise StoreUnavailable(f"the audit cannot be written: {self._last_error or 'the store is too slow'}")
        for record in records:
            self._waiting.append(made := prepare_record(record))
            self._characters += len(made.text)
        self._recorded += len(records)
        self._write_soon()

    async def flush(self) -> None:
        """Waits until everything recorded so far is in the store.

        Raises:
            StoreUnavailable: it is not; it stays in memory and is tried again with the next record.
        """
        wanted = self._recorded  # without records added meanwhile: on a busy service the wait would never end
        while self._written < wanted:
            await asyncio.shield(self._write_now())
            if self._last_error is not None:
                raise self._last_error

    async def close(self) -> None:
        """Flushes, and removes this writer from the table of writers; its records stay."""
        await self.flush()
        await self._store.write(("DELETE FROM audit_writers WHERE writer = ?", (self._writer,)))

    async def verify(self, *, since: float | None = None) -> AuditVerified:
        """Verifies that every record is there and as it was written; with ``since`` only from that time on, which is quick."""
        return await verify_chain(self._store, self._signer, self._counter.read(), since=since)

    async def list(
        self, wanted: AuditFilter = EVERYTHING, *, limit: int = 100, after: int | None = None
    ) -> tuple[AuditEntry, ...]:
        """Returns the newest records that match; ``after`` is the number of the last record of the previous page."""
        condition, values = build_condition(wanted, after, by_time=await self._is_short_time(wanted))
        rows = await self._store.read(f"{SELECT_ROWS} WHERE {condition} ORDER BY seq DESC LIMIT ?", *values, limit)
        return tuple(parse_entry(row) for row in rows)

    async def _is_short_time(self, wanted: AuditFilter) -> bool:
        if wanted.since is None and wanted.until is None:
            return False
        since, until = (wanted.since or 0.0), (wanted.until if wanted.until is not None else MOST_TIME)
        return int((await self._store.read(NARROW_TIME, since, until))[0][0] or 0) <= MOST_SORTED

    async def show(self, id: str, *, tenant: str | None = None) -> AuditTree:  # noqa: A002 - the record's own word
        """Returns the last record called ``id``, with everything that happened inside it.

        Raises:
            NotFound: there is no such record, or it belongs to another tenant.
        """
        rows = await self._store.read(f"{SELECT_ROWS} WHERE id = ? ORDER BY seq DESC LIMIT 1", id)
        found = parse_entry(rows[0]) if rows else None
        if found is None or tenant not in (None, found.record.tenant):
            raise NotFound(f"the audit has no record {id}")
        return await self._build_tree(found, [MOST_TREE_RECORDS])

    async def find_execution_id(self, beginning: str, *, owner: Identity, whole_tenant: bool = False) -> str:
        """Returns the id of the execution of ``owner``, or of its whole tenant, that alone begins so; else ``beginning`` itself.

        Raises:
            NotFound: more than one begins so.
        """
        if not is_beginning(beginning) or len(beginning) == EXECUTION_ID_CHARACTERS:
            return beginning
        await self.flush()  # an execution that has just ended is found, too
        condition, values = ("", ()) if whole_tenant else (" AND caller = ?", (owner.caller,))
        sql = f"SELECT id FROM audit WHERE id > ? AND id < ? AND kind = 'execution' AND tenant = ?{condition} ORDER BY id LIMIT 3"  # noqa: S608
        rows = await self._store.read(sql, beginning, beginning + AFTER_DIGITS, owner.tenant, *values)
        # A promise has a record of its own, named after its execution: `ID/accepted`.
        found = list(dict.fromkeys(str(id_).partition("/")[0] for (id_,) in rows))
        if len(found) > 1:
            raise NotFound(f"more than one execution begins with {beginning!r}: write more of its id")
        return found[0] if found else beginning

    async def _build_tree(self, top: AuditEntry, left: "list[int]") -> AuditTree:
        rows = await self._store.read(
            f"{SELECT_ROWS} WHERE parent = ? AND seq <> ? ORDER BY seq LIMIT ?", top.record.id, top.seq, left[0]
        )
        left[0] -= len(rows)
        children = [parse_entry(row) for row in rows]
        is_leaf = {child.seq for child in children if child.record.kind == "call"}
        trees = [
            AuditTree(entry=one) if one.seq in is_leaf or left[0] <= 0 else await self._build_tree(one, left) for one in children
        ]
        return AuditTree(entry=top, children=tuple(trees))

    async def export(self, wanted: AuditFilter = EVERYTHING) -> AsyncGenerator[str]:
        """Yields every matching record as a line of JSON, oldest first, with all that is needed to check the chain elsewhere."""
        condition, values = build_condition(wanted, None)
        seq = 0
        while rows := await self._store.read(
            f"SELECT seq, hash, record FROM audit WHERE seq > ? AND {condition} ORDER BY seq LIMIT 500",  # noqa: S608
            seq, *values,
        ):  # fmt: skip
            for row in rows:
                yield f'{{"hash":{encode_canonical(row[1])},"record":{row[2]},"seq":{row[0]}}}'
            seq = int(rows[-1][0] or 0)

    async def prune(self, before: float) -> int:
        """Deletes records older than ``before`` and returns how many. Broken ones are evidence, and are left alone."""
        await self.flush()
        if not await verify_beginning(self._store, self._signer, before=before):
            return 0
        return await self._store.change(partial(prune_chain, before=before, signer=self._signer, now=self._clock()))

    def _write_soon(self) -> None:
        """Starts writing after a pause, which ``flush`` skips: a commit costs more than a record, so records share a commit."""
        if self._pause is None:
            self._pause = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._write_now)

    def _write_now(self) -> "asyncio.Task[None]":
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_waiting())
        return self._writing

    async def _write_waiting(self) -> None:
        while self._waiting:
            # A failed batch is tried again unchanged: only then can the store tell that it was already committed.
            records = tuple(self._waiting[place] for place in range(min(BATCH_RECORDS, len(self._waiting))))
            batch = self._batch = self._batch or AuditBatch(self._writer, self._number, records)
            work = partial(append_batch, batch=batch, signer=self._signer, noted=self._highest_seq, now=self._clock())
            try:
                head = await self._store.change(work)
            except StoreUnavailable as error:
                self._last_error = error
                return
            self._drop_written(batch)
            self._advance_counter(head.seq, head.hash)
            if 0 < len(self._waiting) < BATCH_RECORDS:
                self._write_soon()  # records that came meanwhile also wait, to share a commit
                return

    def _drop_written(self, batch: AuditBatch) -> None:
        for _ in batch.records:
            self._characters -= len(self._waiting.popleft().text)
        self._written += len(batch.records)
        self._batch, self._last_error, self._number = None, None, self._number + 1

    def _advance_counter(self, seq: int, hash_: str) -> None:
        self._highest_seq = max(self._highest_seq, seq)
        try:
            self._counter.raise_to(seq, hash_)
        except OSError:
            pass  # the counter is a lower bound: if it lags it detects less, but it reports nothing false
