"""How the audit lies in the database: tables, rows and queries. No rules."""

import json
from collections.abc import Iterator
from typing import Any, cast

from gristmill.ledger.audit.audit_chain import Anchor
from gristmill.ledger.audit.audit_entries import ACCEPTED, INTERRUPTED, AuditEntry, AuditFilter, AuditRecord
from gristmill.store.base import Row, Statement, Transaction, Value

AUDIT_TABLES = (
    (
        "CREATE TABLE IF NOT EXISTS audit (seq INTEGER PRIMARY KEY, time REAL NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, "
        "parent TEXT, tenant TEXT NOT NULL, session TEXT, caller TEXT, tool TEXT, status TEXT, "
        "record TEXT NOT NULL, hash TEXT NOT NULL)"
    ),
    "CREATE INDEX IF NOT EXISTS audit_id ON audit (id)",
    "CREATE INDEX IF NOT EXISTS audit_parent ON audit (parent)",
    "CREATE INDEX IF NOT EXISTS audit_kind ON audit (kind, seq)",
    "CREATE INDEX IF NOT EXISTS audit_session ON audit (session, seq)",
    (
        "CREATE TABLE IF NOT EXISTS audit_anchors (name TEXT PRIMARY KEY, seq INTEGER NOT NULL, hash TEXT NOT NULL, "
        "signer TEXT NOT NULL, mac TEXT NOT NULL)"
    ),
    "CREATE TABLE IF NOT EXISTS audit_writers (writer TEXT PRIMARY KEY, batch INTEGER NOT NULL)",
)
COLUMNS = ("time", "kind", "id", "parent", "tenant", "session", "caller", "tool", "status")
"""Copies of what is in the record, so that it can be asked for; ``verify`` compares them."""
INSERT = f"INSERT INTO audit (seq, {', '.join(COLUMNS)}, record, hash) VALUES ({', '.join('?' * (len(COLUMNS) + 3))})"  # noqa: S608
ROWS = f"SELECT seq, hash, record, {', '.join(COLUMNS)} FROM audit"  # noqa: S608 - our own names


def columns(fields: dict[str, Any]) -> tuple[Value, ...]:
    """The columns of a record."""
    get = fields.get
    return tuple([get(name) for name in COLUMNS])


def entry(row: Row) -> AuditEntry:
    """A row as a value."""
    fields: dict[str, Any] = json.loads(cast("str", row[2]))
    known = {name: value for name, value in fields.items() if name in AuditRecord.__slots__}
    return AuditEntry(seq=cast("int", row[0]), hash=cast("str", row[1]), record=AuditRecord(**known))


def anchor(row: Row) -> Anchor:
    """A row of the anchors."""
    name, seq, hash_, key, mac = cast("tuple[str, int, str, str, str]", row)
    return Anchor(name=name, seq=seq, hash=hash_, key=key, mac=mac)


def put_anchor(made: Anchor) -> Statement:
    """The statement that writes an anchor in the place of the one of that name."""
    return (
        (
            "INSERT INTO audit_anchors (name, seq, hash, signer, mac) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
            "seq = excluded.seq, hash = excluded.hash, signer = excluded.signer, mac = excluded.mac"
        ),
        (made.name, made.seq, made.hash, made.key, made.mac),
    )


def get_anchor(transaction: Transaction, name: str) -> Anchor | None:
    """The anchor called ``name``."""
    rows = transaction.run("SELECT name, seq, hash, signer, mac FROM audit_anchors WHERE name = ?", name)
    return anchor(rows[0]) if rows else None


def where(wanted: AuditFilter, after: int | None) -> tuple[str, tuple[Value, ...]]:
    """The condition of a filter and its values."""
    parts = list(_conditions(wanted))
    if after is not None:
        parts.append(("seq < ?", after))
    return " AND ".join(sql for sql, _ in parts) or "1 = 1", tuple(value for _, value in parts)


def _conditions(wanted: AuditFilter) -> Iterator[tuple[str, Value]]:
    for name in ("kind", "id", "tenant", "session", "caller", "parent"):
        if (value := getattr(wanted, name)) is not None:
            yield f"{name} = ?", value
    if wanted.status is not None:
        # Nothing else says of an open promise how it ended.
        is_open = wanted.promises == "open" and wanted.status == INTERRUPTED
        yield f"status IN (?, '{ACCEPTED}')" if is_open else "status = ?", wanted.status
    if wanted.tool is not None:
        # A server's name alone means all its tools.
        prefix = f"substr(tool, 1, {len(wanted.tool) + 1}) = ?"
        yield ("tool = ?", wanted.tool) if "." in wanted.tool else (prefix, wanted.tool + ".")
    if wanted.promises == "open":
        kept = "SELECT 1 FROM audit AS ended WHERE ended.id = audit.parent AND ended.kind = 'execution'"
        yield f"(COALESCE(status, '') <> ? OR NOT EXISTS ({kept}))", ACCEPTED
    if wanted.since is not None:
        yield "time >= ?", wanted.since
    if wanted.until is not None:
        yield "time < ?", wanted.until
