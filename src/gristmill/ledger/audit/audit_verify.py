"""Verifies that the audit is as it was written: every hash, number, column and signature is compared."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from gristmill.ledger.audit.append_records import BREAK_RULE
from gristmill.ledger.audit.audit_chain import GENESIS, HEAD, PRUNED, AnchorSigner, AuditAnchor, hash_record
from gristmill.ledger.audit.audit_entries import AuditVerified
from gristmill.ledger.audit.audit_rows import SELECT_ROWS, parse_anchor, pick_columns
from gristmill.store.base import Row, Store

PAGE_RECORDS = 1_000
EARLY_RECORDS = 1_000
"""Among how many records, the earliest since a time, the first of the chain is sought: records are not quite in order of time."""


async def verify_chain(store: Store, signer: AnchorSigner, noted: int, *, since: float | None = None) -> AuditVerified:
    """Walks the chain from its beginning, or from where it was pruned, to its head, and reports the first problem.

    With ``since`` the walk begins at the last signed place before the records of that time; older ones are not looked at.
    """
    last, anchors = await _read_anchors(store)
    start = anchors.get(PRUNED) if since is None else await _find_signed_place(store, anchors, since)
    found = await _walk_chain(store, signer, anchors, start, last, noted)
    if not found.ok and (await _read_anchors(store))[1].get(PRUNED) != anchors.get(PRUNED):
        return await verify_chain(store, signer, noted, since=since)  # retention deleted old records during the walk
    return found


async def verify_beginning(store: Store, signer: AnchorSigner, *, before: float) -> bool:
    """Verifies the records before the first of the time ``before``, which retention is about to delete: not the rest."""
    last, anchors = await _read_anchors(store)
    ((first_kept,),) = await store.read("SELECT min(seq) FROM audit WHERE time >= ?", before)
    end = last if first_kept is None else int(first_kept) - 1
    return (await _walk_chain(store, signer, anchors, anchors.get(PRUNED), end, None)).ok


async def _find_signed_place(store: Store, anchors: Mapping[str, AuditAnchor], since: float) -> AuditAnchor | None:
    """Returns the last signed place before the records since ``since``; None if that is the beginning."""
    early = f"SELECT seq FROM audit WHERE time >= ? ORDER BY time LIMIT {EARLY_RECORDS}"  # noqa: S608 - our own number
    ((first,),) = await store.read(f"SELECT min(seq) FROM ({early}) AS early", since)  # noqa: S608
    places = [each for each in anchors.values() if each.name != HEAD and (first is None or each.seq < int(first))]
    return max(places, key=lambda each: each.seq, default=None)


async def _read_anchors(store: Store) -> tuple[int, dict[str, AuditAnchor]]:
    """Reads the last number and all anchors, as of one moment."""
    rows = await store.read(
        "SELECT name, seq, hash, signer, mac FROM audit_anchors UNION ALL "
        "SELECT '', coalesce(max(seq), 0), '', '', '' FROM audit ORDER BY 1"
    )
    found = [parse_anchor(row) for row in rows]
    return found[0].seq, {one.name: one for one in found[1:]}


async def _walk_chain(
    store: Store,
    signer: AnchorSigner,
    anchors: Mapping[str, AuditAnchor],
    place: AuditAnchor | None,
    last: int,
    noted: int | None,
) -> AuditVerified:
    """Walks from the signed ``place`` to the record ``last``, which is the end of the chain unless ``noted`` is None."""
    start = place or AuditAnchor(name=PRUNED, seq=0, hash=GENESIS)
    if start.seq and (problem := signer.find_problem(start)):
        return AuditVerified(ok=False, records=0, first_bad=start.seq, reason=problem)
    seq, hash_ = start.seq, start.hash
    while rows := await store.read(f"{SELECT_ROWS} WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT {PAGE_RECORDS}", seq, last):
        for row in rows:
            if problem := _find_row_problem(row, seq, hash_, anchors, signer):
                return AuditVerified(ok=False, records=seq - start.seq, first_bad=seq + 1, reason=problem)
            seq, hash_ = cast("int", row[0]), cast("str", row[1])
    problem = None if noted is None else _find_end_problem(anchors.get(HEAD), seq, hash_, signer, noted)
    return AuditVerified(ok=problem is None, records=seq - start.seq, first_bad=seq + 1 if problem else None, reason=problem)


def _find_row_problem(
    row: Row, before: int, previous: str, anchors: Mapping[str, AuditAnchor], signer: AnchorSigner
) -> str | None:
    seq, hash_, text = cast("tuple[int, str, str]", row[:3])
    if seq != before + 1:
        return f"record {before + 1} is missing" + (f", and all up to {seq - 1}" if seq > before + 2 else "")
    if hash_ != hash_record(previous, seq, text):
        return f"record {seq} was changed, or stands in the wrong place"
    fields: dict[str, Any] = msgspec.json.decode(text)
    if pick_columns(fields) != tuple(row[3:]):
        return f"the search columns of record {seq} were changed"
    if fields.get("rule") == BREAK_RULE:
        return f"a break was noticed when record {seq} was written: {fields.get('error')}"
    return _find_anchor_problem(anchors.get(f"seq:{seq}"), hash_, signer)


def _find_anchor_problem(found: AuditAnchor | None, hash_: str, signer: AnchorSigner) -> str | None:
    if found is None:
        return None
    if problem := signer.find_problem(found):
        return problem
    return None if found.hash == hash_ else f"the chain up to record {found.seq} was rewritten"


def _find_end_problem(head: AuditAnchor | None, seq: int, hash_: str, signer: AnchorSigner, noted: int) -> str | None:
    if seq < noted:
        return f"records are missing at the end: {noted} were written, the last one here is {seq}"
    if head is None:
        return None if seq == 0 else "the head of the chain is missing"
    if problem := signer.find_problem(head):
        return problem
    if head.seq != seq:
        return f"the chain should end at record {head.seq}, but the last one is {seq}"
    return None if head.hash == hash_ else "the chain was rewritten"
