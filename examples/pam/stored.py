"""Where the records are: generated into SQLite, or into PostgreSQL, once."""

from dataclasses import dataclass
from pathlib import Path

from examples.pam.seed import build
from examples.pam.sql import Sql
from examples.records import Records, open_copy

SCHEMA = "pam"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The records, and the tools of ``execute_sql`` that fit their database."""

    records: Records
    sql: object


def open_sqlite(path: Path | None = None) -> Stored:
    """Generated records in memory, gone with the process, or kept at ``path``."""
    records = Records(open_copy(build, path))
    return Stored(records=records, sql=Sql(records))


def open_postgres(url: str) -> Stored:
    """The records in the schema ``pam`` of a PostgreSQL; the first who opens it generates them.

    Raises:
        ValueError: there is none at ``url``, or it may not be used so.
    """
    # Only here: not everybody has the driver, nor the time to load it.
    from examples.pam.sql_postgres import PostgresSql, guard_rows
    from examples.postgres import Address, Postgres, prepared

    address = Address(url, SCHEMA)
    sql = PostgresSql(address)
    prepared(address, lambda: open_copy(build, None), guard_rows)
    return Stored(records=Records(Postgres(address)), sql=sql)
