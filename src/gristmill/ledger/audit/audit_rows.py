"""The audit in the database: tables, rows and queries. No rules."""

import json
from collections.abc import Iterator
from typing import Any, cast

from gristmill.ledger.audit.audit_chain import AuditAnchor
from gristmill.ledger.audit.audit_entries import ACCEPTED, INTERRUPTED, AuditEntry, AuditFilter, AuditRecord
from gristmill.ledger.record_text import encode_canonical
from gristmill.store.base import Row, Statement, Transaction, Value

SEARCHED_RECORDS = 100_000
"""How many of the newest records are looked through for a text."""
COLUMNS = ("time", "kind", "id", "parent", "tenant", "session", "caller", "tool", "status")
"""Columns that copy fields of the record, so that queries can use them; verification compares them with the record."""
INSERT_ROW = f"INSERT INTO audit (seq, {', '.join(COLUMNS)}, record, hash) VALUES ({', '.join('?' * (len(COLUMNS) + 3))})"  # noqa: S608
SELECT_ROWS = f"SELECT seq, hash, record, {', '.join(COLUMNS)} FROM audit"  # noqa: S608 - our own names


def pick_columns(fields: dict[str, Any]) -> tuple[Value, ...]:
    """Returns the columns of a record, from its fields."""
    get = fields.get
    return tuple([get(name) for name in COLUMNS])


def parse_entry(row: Row) -> AuditEntry:
    """Parses a row of the audit."""
    fields: dict[str, Any] = json.loads(cast("str", row[2]))
    known = {name: value for name, value in fields.items() if name in AuditRecord.__struct_fields__}
    return AuditEntry(seq=cast("int", row[0]), hash=cast("str", row[1]), record=AuditRecord(**known))


def parse_anchor(row: Row) -> AuditAnchor:
    """Parses a row of the anchors."""
    name, seq, hash_, key, mac = cast("tuple[str, int, str, str, str]", row)
    return AuditAnchor(name=name, seq=seq, hash=hash_, key=key, mac=mac)


def build_anchor_statement(made: AuditAnchor) -> Statement:
    """Returns the statement that writes an anchor in place of the one with the same name."""
    return (
        (
            "INSERT INTO audit_anchors (name, seq, hash, signer, mac) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "seq = excluded.seq, hash = excluded.hash, signer = excluded.signer, mac = excluded.mac"
        ),
        (made.name, made.seq, made.hash, made.key, made.mac),
    )


def read_anchor(transaction: Transaction, name: str) -> AuditAnchor | None:
    """Reads the anchor called ``name``; None if there is none."""
    rows = transaction.run("SELECT name, seq, hash, signer, mac FROM audit_anchors WHERE name = ?", name)
    return parse_anchor(rows[0]) if rows else None


MOST_SORTED = 20_000
"""Up to this many records of a time are sorted; in a longer time the records are walked from the newest."""
NARROW_TIME = f"SELECT count(*) FROM (SELECT 1 FROM audit WHERE time >= ? AND time < ? LIMIT {MOST_SORTED + 1}) AS few"  # noqa: S608


def build_condition(wanted: AuditFilter, after: int | None, *, by_time: bool = False) -> tuple[str, tuple[Value, ...]]:
    """Returns the SQL condition of a filter, and its values. ``by_time`` says that few records are as old as ``wanted`` asks."""
    parts = list(_list_conditions(wanted, "time" if by_time else _choose_index(wanted)))
    if after is not None:
        parts.append(("seq < ?", after))
    return " AND ".join(sql for sql, _ in parts) or "1 = 1", tuple(value for _, value in parts)


def _choose_index(wanted: AuditFilter) -> str:
    """Returns the column that tells the records that match from most others."""
    for name in ("id", "parent", "session", "tool"):
        if getattr(wanted, name) is not None and (name != "tool" or "." in (wanted.tool or "")):
            return name
    if wanted.status not in (None, "ok") and wanted.promises == "all":
        return "status"
    return "caller" if wanted.caller is not None or wanted.owner is not None else "tenant"


_INDEXED = {"status": ("tenant", "status"), "caller": ("tenant", "caller")}
"""The columns of an index that has more than one."""


def _list_conditions(wanted: AuditFilter, index: str) -> Iterator[tuple[str, Value]]:
    used = _INDEXED.get(index, (index,))

    def compare(name: str, value: Value) -> tuple[str, Value]:
        # SQLite has no statistics here, and would take any index: a column that is part of an expression has none.
        return (f"{name} = ?" if name in used else f"{name} || '' = ?"), value

    for name in ("kind", "id", "tenant", "session", "caller", "parent"):
        if (value := getattr(wanted, name)) is not None:
            yield compare(name, value)
    if wanted.owner is not None:
        yield compare("tenant", wanted.owner.tenant)
        yield compare("caller", wanted.owner.caller)
    if wanted.status is not None and index == "status":
        yield "status <> 'ok' AND status = ?", wanted.status
    elif wanted.status is not None:
        # An open promise has no other record of how its execution ended.
        is_open = wanted.promises == "open" and wanted.status == INTERRUPTED
        yield f"status IN (?, '{ACCEPTED}')" if is_open else "status = ?", wanted.status
    if wanted.tool is not None:
        # A server's name alone means all its tools.
        prefix = f"substr(tool, 1, {len(wanted.tool) + 1}) = ?"
        yield compare("tool", wanted.tool) if "." in wanted.tool else (prefix, wanted.tool + ".")
    if wanted.promises == "open":
        kept = "SELECT 1 FROM audit AS ended WHERE ended.id = audit.parent AND ended.kind = 'execution'"
        yield f"(COALESCE(status, '') <> ? OR NOT EXISTS ({kept}))", ACCEPTED
    yield from _list_word_conditions(wanted.word)
    yield from _list_times(wanted, index)


def _list_times(wanted: AuditFilter, index: str) -> Iterator[tuple[str, Value]]:
    if wanted.since is not None:
        yield "time >= ?" if index == "time" else "time + 0 >= ?", wanted.since
    if wanted.until is not None:
        yield "time < ?" if index == "time" else "time + 0 < ?", wanted.until


def _list_word_conditions(word: str | None) -> Iterator[tuple[str, Value]]:
    if word is not None:
        # A record is one line of JSON: a text stands in it as JSON writes it. Only the newest are looked through.
        written = encode_canonical(word)[1:-1].lower()
        for sign in "\\%_":
            written = written.replace(sign, f"\\{sign}")
        yield "lower(record) LIKE ? ESCAPE '\\'", f"%{written}%"
        yield "seq > (SELECT max(seq) FROM audit) - ?", SEARCHED_RECORDS
