"""Appends records to the chain inside one transaction of the store, so that several processes can extend one chain."""

from collections.abc import Sequence

from msgspec import Struct

from gristmill.ledger.audit.audit_chain import ANCHOR_INTERVAL, GENESIS, HEAD, PRUNED, AnchorSigner, AuditAnchor, hash_record
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.audit.audit_rows import INSERT_ROW, build_anchor_statement, pick_columns, read_anchor
from gristmill.ledger.record_text import encode_canonical
from gristmill.store.base import Transaction, Value

BREAK_RULE, PRUNE_RULE = "audit.break", "audit.prune"


class WaitingRecord(Struct, frozen=True):
    """A record that waits to be written: its columns and its canonical text, computed once."""

    columns: tuple[Value, ...]
    text: str


class AuditBatch(Struct, frozen=True):
    """Records that are written together. ``writer`` and ``number`` tell whether a batch is in the store already."""

    writer: str
    number: int
    records: tuple[WaitingRecord, ...]


def prepare_record(record: AuditRecord) -> WaitingRecord:
    """Prepares ``record`` for the store: its columns and its canonical text."""
    found = record.encode_if_short()
    if found is None:
        fields = record.fields()
        return WaitingRecord(pick_columns(fields), encode_canonical(fields))
    return WaitingRecord(pick_columns(found[0]), found[1])


def append_batch(transaction: Transaction, batch: AuditBatch, signer: AnchorSigner, *, noted: int, now: float) -> AuditAnchor:
    """Appends ``batch`` to the chain once, however often it is tried, and returns the new head.

    A head that is forged, or older than ``noted``, is not extended in silence: a record of the break is written first.
    """
    head = read_anchor(transaction, HEAD)
    done = transaction.run("SELECT batch FROM audit_writers WHERE writer = ?", batch.writer)
    if done and int(done[0][0] or 0) >= batch.number and head is not None:
        return head  # an earlier try was committed, only its answer was lost
    transaction.run(
        "INSERT INTO audit_writers (writer, batch) VALUES (?, ?) ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch",
        batch.writer, batch.number,
    )  # fmt: skip
    problem = _find_head_problem(transaction, head, signer, noted)
    if problem is None:
        return extend_chain(transaction, head, batch.records, signer)
    broken = AuditRecord(kind="security", id=f"break-{batch.writer}-{batch.number}", time=now, rule=BREAK_RULE, error=problem)
    return extend_chain(transaction, _find_last_place(transaction, head, noted), (prepare_record(broken), *batch.records), signer)


def extend_chain(
    transaction: Transaction, head: AuditAnchor | None, records: Sequence[WaitingRecord], signer: AnchorSigner
) -> AuditAnchor:
    """Inserts ``records`` after ``head`` and signs the new head."""
    seq, hash_ = (head.seq, head.hash) if head else (0, GENESIS)
    rows: list[tuple[Value, ...]] = []
    for record in records:
        seq, hash_ = seq + 1, hash_record(hash_, seq + 1, record.text)
        rows.append((seq, *record.columns, record.text, hash_))
        if seq % ANCHOR_INTERVAL == 0:
            _store_anchor(transaction, signer.sign(f"seq:{seq}", seq, hash_))
    transaction.run_many(INSERT_ROW, rows)
    made = signer.sign(HEAD, seq, hash_)
    _store_anchor(transaction, made)
    return made


def prune_chain(transaction: Transaction, before: float, signer: AnchorSigner, now: float) -> int:
    """Deletes the records older than ``before``, signs where the chain now begins, and returns how many were deleted."""
    head = read_anchor(transaction, HEAD)
    if head is None or signer.find_problem(head):
        return 0
    ((first,),) = transaction.run("SELECT min(seq) FROM audit WHERE time >= ?", before)
    last = (int(first) if first is not None else head.seq + 1) - 1
    rows = transaction.run("SELECT hash FROM audit WHERE seq = ?", last)
    if not rows:
        return 0
    hash_ = str(rows[0][0])
    ((count,),) = transaction.run("SELECT count(*) FROM audit WHERE seq <= ?", last)
    transaction.run("DELETE FROM audit WHERE seq <= ?", last)
    transaction.run("DELETE FROM audit_anchors WHERE seq <= ? AND name LIKE 'seq:%'", last)
    _store_anchor(transaction, signer.sign(PRUNED, last, hash_))
    details = {"up_to": last, "records": count, "hash": hash_}
    note = AuditRecord(kind="security", id=f"prune-{last}", time=now, rule=PRUNE_RULE, details=details)
    extend_chain(transaction, head, (prepare_record(note),), signer)
    return int(count or 0)


def _find_head_problem(transaction: Transaction, head: AuditAnchor | None, signer: AnchorSigner, noted: int) -> str | None:
    if head is None:
        ((last,),) = transaction.run("SELECT max(seq) FROM audit")
        return "the head of the chain is missing" if last is not None or noted else None
    if problem := signer.find_problem(head):
        return problem
    return f"the chain ends at {head.seq}, but {noted} records were written" if head.seq < noted else None


def _find_last_place(transaction: Transaction, head: AuditAnchor | None, noted: int) -> AuditAnchor:
    """Returns the place to continue from after a break: behind every record that is or was there."""
    rows = transaction.run("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
    seq, hash_ = (int(rows[0][0] or 0), str(rows[0][1])) if rows else (0, GENESIS)
    return AuditAnchor(name=HEAD, seq=max(seq, noted, head.seq if head else 0), hash=hash_)


def _store_anchor(transaction: Transaction, made: AuditAnchor) -> None:
    sql, values = build_anchor_statement(made)
    transaction.run(sql, *values)
