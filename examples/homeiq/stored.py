"""Where the year of events is: a SQLite file, made once on this machine, or a PostgreSQL. It is only ever read."""

import os
from pathlib import Path

from examples.cached import made_once, open_read_only
from examples.homeiq.seed import FILE, build
from examples.records import Records

URL = "HOMEIQ_DATABASE_URL"
SCHEMA = "homeiq"


def open_records(path: Path | None = None) -> Records:
    """The SQLite file at ``path``, or the generated one."""
    return Records(open_read_only(path or made_once(FILE, build)))


def open_postgres(url: str, source: Path | None = None) -> Records:
    """The records in the schema ``homeiq`` of a PostgreSQL; the first who opens it copies them there, from ``source`` if given.

    Raises:
        ValueError: there is none at ``url``, or it may not be used so.
    """
    # Only here: not everybody has the driver, nor the time to load it.
    from examples.postgres import Address, Postgres, prepared

    address = Address(url, SCHEMA)
    prepared(address, lambda: open_read_only(source or made_once(FILE, build)))
    return Records(Postgres(address, read_only=True))


def chosen_records(path: str | None) -> Records:
    """What the command line and the environment ask for.

    Raises:
        ValueError: the PostgreSQL that they name cannot be used.
    """
    address = os.environ.get(URL)
    if not address:
        return open_records(Path(path) if path else None)
    try:
        return open_postgres(address, Path(path) if path else None)
    except ValueError as error:
        raise ValueError(f"{URL}: {error}") from None
