"""Is the audit as it was written? Every hash, number, column and signature is compared."""

import json
from collections.abc import Mapping
from typing import Any, cast

from gristmill.ledger.audit.append_records import BREAK_RULE
from gristmill.ledger.audit.audit_chain import GENESIS, HEAD, PRUNED, Anchor, Signer, chained
from gristmill.ledger.audit.audit_entries import Verified
from gristmill.ledger.audit.audit_rows import ROWS, anchor, columns
from gristmill.store.base import Row, Store

PAGE = 1_000


async def verify(store: Store, signer: Signer, noted: int) -> Verified:
    """Walk the chain from its beginning, or from where it was pruned, to its head."""
    last, anchors = await _snapshot(store)
    found = await _walk(store, signer, anchors, last, noted)
    if not found.ok and (await _snapshot(store))[1].get(PRUNED) != anchors.get(PRUNED):
        return await verify(store, signer, noted)  # old records were deleted, by right, while we looked
    return found


async def _snapshot(store: Store) -> tuple[int, dict[str, Anchor]]:
    """The last number and all anchors, as of one moment."""
    rows = await store.read(
        "SELECT name, seq, hash, signer, mac FROM audit_anchors UNION ALL "
        "SELECT '', coalesce(max(seq), 0), '', '', '' FROM audit ORDER BY 1"
    )
    found = [anchor(row) for row in rows]
    return found[0].seq, {one.name: one for one in found[1:]}


async def _walk(store: Store, signer: Signer, anchors: Mapping[str, Anchor], last: int, noted: int) -> Verified:
    start = anchors.get(PRUNED) or Anchor(name=PRUNED, seq=0, hash=GENESIS)
    if start.seq and (problem := signer.problem(start)):
        return Verified(ok=False, records=0, first_bad=start.seq, reason=problem)
    seq, hash_ = start.seq, start.hash
    while rows := await store.read(f"{ROWS} WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT {PAGE}", seq, last):
        for row in rows:
            if problem := _row_problem(row, seq, hash_, anchors, signer):
                return Verified(ok=False, records=seq - start.seq, first_bad=seq + 1, reason=problem)
            seq, hash_ = cast("int", row[0]), cast("str", row[1])
    problem = _end_problem(anchors.get(HEAD), seq, hash_, signer, noted)
    return Verified(ok=problem is None, records=seq - start.seq, first_bad=seq + 1 if problem else None, reason=problem)


def _row_problem(row: Row, before: int, previous: str, anchors: Mapping[str, Anchor], signer: Signer) -> str | None:
    seq, hash_, text = cast("tuple[int, str, str]", row[:3])
    if seq != before + 1:
        return f"record {before + 1} is missing" + (f", and all up to {seq - 1}" if seq > before + 2 else "")
    if hash_ != chained(previous, seq, text):
        return f"record {seq} was changed, or stands in the wrong place"
    fields: dict[str, Any] = json.loads(text)
    if columns(fields) != tuple(row[3:]):
        return f"what record {seq} is found by was changed"
    if fields.get("rule") == BREAK_RULE:
        return f"a break was noticed when record {seq} was written: {fields.get('error')}"
    return _anchor_problem(anchors.get(f"seq:{seq}"), hash_, signer)


def _anchor_problem(found: Anchor | None, hash_: str, signer: Signer) -> str | None:
    if found is None:
        return None
    if problem := signer.problem(found):
        return problem
    return None if found.hash == hash_ else f"the chain up to record {found.seq} was written anew"


def _end_problem(head: Anchor | None, seq: int, hash_: str, signer: Signer, noted: int) -> str | None:
    if seq < noted:
        return f"records are missing at the end: {noted} were written, the last one here is {seq}"
    if head is None:
        return None if seq == 0 else "the head of the chain is missing"
    if problem := signer.problem(head):
        return problem
    if head.seq != seq:
        return f"the chain should end at record {head.seq}, but the last one is {seq}"
    return None if head.hash == hash_ else "the chain was written anew"
