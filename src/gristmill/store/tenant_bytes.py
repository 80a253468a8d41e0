"""Counts the bytes that each tenant keeps in a table, in the same transactions that fill and empty the table.

A sum over the rows would be exact as well, and would take longer the more a tenant keeps.
"""

from collections.abc import Sequence
from typing import Literal

from gristmill.store.base import Statement, Transaction, Value

Kind = Literal["values", "skills", "outcomes", "approvals"]

_TABLES: dict[Kind, str] = {"values": "session_values", "skills": "skills", "outcomes": "outcomes", "approvals": "approvals"}
"""The table of each kind; each has the columns ``tenant`` and ``size``."""
_ADD = """INSERT INTO tenant_bytes (tenant, kind, bytes) VALUES (?, ?, ?)
    ON CONFLICT (tenant, kind) DO UPDATE SET bytes = tenant_bytes.bytes + excluded.bytes"""


def read_tenant_bytes(step: Transaction, tenant: str, kind: Kind) -> int:
    """Returns how many bytes of a kind ``tenant`` keeps."""
    rows = step.run("SELECT bytes FROM tenant_bytes WHERE tenant = ? AND kind = ?", tenant, kind)
    return int(rows[0][0] or 0) if rows else 0


def add_tenant_bytes(step: Transaction, tenant: str, kind: Kind, size: int) -> None:
    """Counts the ``size`` of a row that is added; a negative one for a row that is deleted."""
    step.run(_ADD, tenant, kind, size)


def build_addition(kind: Kind, tenant: str, size: int) -> Statement:
    """Returns the statement that counts the ``size`` of a row that is added."""
    return _ADD, (tenant, kind, size)


def build_deletion(kind: Kind, where: str, values: Sequence[Value]) -> tuple[Statement, Statement]:
    """Returns the statements that delete the rows of a kind that match ``where``, and uncount their bytes."""
    table = _TABLES[kind]
    uncount = f"""UPDATE tenant_bytes SET bytes = bytes - coalesce(
        (SELECT sum(size) FROM {table} WHERE {table}.tenant = tenant_bytes.tenant AND {where}), 0)
        WHERE kind = ? AND tenant IN (SELECT tenant FROM {table} WHERE {where})"""  # noqa: S608 - only our own words
    return (uncount, (*values, kind, *values)), (f"DELETE FROM {table} WHERE {where}", tuple(values))  # noqa: S608 - only our own words
