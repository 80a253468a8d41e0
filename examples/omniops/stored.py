"""Where the shop's records are: a SQLite file, made once on this machine, or a PostgreSQL."""

import os
import sqlite3
from pathlib import Path

from examples.cached import made_once, open_read_only
from examples.omniops.seed import FILE, build
from examples.records import Records

URL = "OMNIOPS_DATABASE_URL"
SCHEMA = "omniops"


def open_records(path: Path | None) -> Records:
    """The SQLite file at ``path``, or the generated one; only to be read."""
    return Records(open_read_only(path or made_once(FILE, build)))


def open_copy_of(path: Path | None) -> Records:
    """The same in memory, so that orders and stock can change."""
    kept, own = open_records(path).connection, sqlite3.connect(":memory:", check_same_thread=False)
    kept.backup(own)
    kept.close()
    return Records(own)


def open_postgres(url: str, *, is_read_only: bool) -> Records:
    """The records in the schema ``omniops`` of a PostgreSQL; the first who opens it copies the generated ones there.

    Raises:
        ValueError: there is none at ``url``, or it may not be used so.
    """
    # Only here: not everybody has the driver, nor the time to load it.
    from examples.postgres import Address, Postgres, prepared

    address = Address(url, SCHEMA)
    prepared(address, lambda: open_read_only(made_once(FILE, build)))
    return Records(Postgres(address, read_only=is_read_only))


def chosen_records(path: Path | None, *, is_read_only: bool = True) -> Records:
    """What the command line and the environment ask for. What is written to SQLite is gone with the process.

    Raises:
        SystemExit: the PostgreSQL that they name cannot be used.
    """
    if not (address := os.environ.get(URL)):
        return open_records(path) if is_read_only else open_copy_of(path)
    try:
        return open_postgres(address, is_read_only=is_read_only)
    except ValueError as error:
        raise SystemExit(f"{URL}: {error}") from None
