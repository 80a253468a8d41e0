"""Records join the chain, inside one transaction of the store, so that several processes extend one chain."""

from collections.abc import Sequence

from gristmill.ledger.audit.audit_chain import EVERY, GENESIS, HEAD, PRUNED, Anchor, Signer, chained
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.audit.audit_rows import INSERT, columns, get_anchor, put_anchor
from gristmill.ledger.record_text import canonical
from gristmill.store.base import Transaction, Value
from gristmill.values import dataclass

BREAK_RULE, PRUNE_RULE = "audit.break", "audit.prune"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A record on its way: its columns and its canonical text, made once."""

    columns: tuple[Value, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that go in together. Writer and number tell a batch that is there already from one that is not."""

    writer: str
    number: int
    records: tuple[Waiting, ...]


def waiting(record: AuditRecord) -> Waiting:
    """``record`` as it will be kept."""
    found = record.short()
    if found is None:
        fields = record.fields()
        return Waiting(columns(fields), canonical(fields))
    return Waiting(columns(found[0]), found[1])


def append(transaction: Transaction, batch: Batch, signer: Signer, *, noted: int, now: float) -> Anchor:
    """Add ``batch`` to the chain once, however often it is tried; the new head.

    A head that is forged or older than ``noted`` is not built upon in silence: a record of the break comes first.
    """
    head = get_anchor(transaction, HEAD)
    done = transaction.run("SELECT batch FROM audit_writers WHERE writer = ?", batch.writer)
    if done and int(done[0][0] or 0) >= batch.number and head is not None:
        return head  # an earlier try was committed, only its answer was lost
    transaction.run(
        "INSERT INTO audit_writers (writer, batch) VALUES (?, ?) ON CONFLICT (writer) DO UPDATE SET batch = excluded.batch",
        batch.writer, batch.number,
    )  # fmt: skip
    problem = _problem(transaction, head, signer, noted)
    if problem is None:
        return extend(transaction, head, batch.records, signer)
    broken = AuditRecord(kind="security", id=f"break-{batch.writer}-{batch.number}", time=now, rule=BREAK_RULE, error=problem)
    return extend(transaction, _last(transaction, head, noted), (waiting(broken), *batch.records), signer)


def extend(transaction: Transaction, head: Anchor | None, records: Sequence[Waiting], signer: Signer) -> Anchor:
    """Insert ``records`` after ``head`` and sign the new head."""
    seq, hash_ = (head.seq, head.hash) if head else (0, GENESIS)
    rows: list[tuple[Value, ...]] = []
    for record in records:
        seq, hash_ = seq + 1, chained(hash_, seq + 1, record.text)
        rows.append((seq, *record.columns, record.text, hash_))
        if seq % EVERY == 0:
            _put(transaction, signer.sign(f"seq:{seq}", seq, hash_))
    transaction.run_many(INSERT, rows)
    made = signer.sign(HEAD, seq, hash_)
    _put(transaction, made)
    return made


def prune(transaction: Transaction, before: float, signer: Signer, now: float) -> int:
    """Delete the records older than ``before`` and leave a signed note of where the chain now begins; how many went."""
    head = get_anchor(transaction, HEAD)
    if head is None or signer.problem(head):
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
    _put(transaction, signer.sign(PRUNED, last, hash_))
    details = {"up_to": last, "records": count, "hash": hash_}
    note = AuditRecord(kind="security", id=f"prune-{last}", time=now, rule=PRUNE_RULE, details=details)
    extend(transaction, head, (waiting(note),), signer)
    return int(count or 0)


def _problem(transaction: Transaction, head: Anchor | None, signer: Signer, noted: int) -> str | None:
    if head is None:
        ((last,),) = transaction.run("SELECT max(seq) FROM audit")
        return "the head of the chain is missing" if last is not None or noted else None
    if problem := signer.problem(head):
        return problem
    return f"the chain ends at {head.seq}, but {noted} records were written" if head.seq < noted else None


def _last(transaction: Transaction, head: Anchor | None, noted: int) -> Anchor:
    """Where to go on after a break: behind everything that is or was there."""
    rows = transaction.run("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")
    seq, hash_ = (int(rows[0][0] or 0), str(rows[0][1])) if rows else (0, GENESIS)
    return Anchor(name=HEAD, seq=max(seq, noted, head.seq if head else 0), hash=hash_)


def _put(transaction: Transaction, made: Anchor) -> None:
    sql, values = put_anchor(made)
    transaction.run(sql, *values)
