"""Where the shop's records are: a SQLite file, made once on this machine."""

import sqlite3
from pathlib import Path

from examples.cached import made_once, open_read_only
from examples.omniops.seed import FILE, build
from examples.records import Records


def open_records(path: Path | None) -> Records:
    """The SQLite file at ``path``, or the generated one; only to be read."""
    return Records(open_read_only(path or made_once(FILE, build)))


def open_copy_of(path: Path | None) -> Records:
    """The same in memory, so that orders and stock can change."""
    kept, own = open_records(path).connection, sqlite3.connect(":memory:", check_same_thread=False)
    kept.backup(own)
    kept.close()
    return Records(own)


def chosen_records(path: Path | None, *, is_read_only: bool = True) -> Records:
    """What the command line asks for. What is written is gone with the process."""
    return open_records(path) if is_read_only else open_copy_of(path)
