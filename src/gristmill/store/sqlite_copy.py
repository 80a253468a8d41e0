"""Keeps a copy of the SQLite file before its schema changes, so that an operator can go back."""

import logging
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from gristmill.errors import StoreUnavailable

log = logging.getLogger(__name__)

MOST_COPIES = 2
RESERVE_BYTES = 16 << 20
"""What must be free beyond the copy: the migration itself writes to the same disk."""


def keep_copy(path: Path, number: int) -> Path:
    """Copies the database at ``path`` to ``<path>.before-<number>`` and returns the copy; the file appears whole or not at all.

    Call it while no process can write to the database.

    Raises:
        StoreUnavailable: there is no room for a copy, or it could not be written.
    """
    copy = path.with_name(f"{path.name}.before-{number}")
    draft = copy.with_name(f"{copy.name}.part")
    with closing(sqlite3.connect(path, isolation_level=None)) as source:
        _check_room(source, path, copy)
        try:
            draft.unlink(missing_ok=True)  # left by a process that was killed here
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            with closing(sqlite3.connect(draft, isolation_level=None)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
            _sync(draft)
            os.replace(draft, copy)
            _sync(path.parent)
        except (sqlite3.Error, OSError) as error:
            draft.unlink(missing_ok=True)
            raise StoreUnavailable(
                f"the copy {copy} that is kept before the store changes could not be written ({error}); nothing was changed"
            ) from None
    return copy


def remove_old_copies(path: Path) -> None:
    """Removes all copies of the database at ``path`` but the newest."""
    pattern = re.compile(re.escape(path.name) + r"\.before-(\d+)")
    found = ((pattern.fullmatch(each.name), each) for each in path.parent.iterdir())
    copies = sorted((int(match[1]), each) for match, each in found if match)
    for _, copy in copies[:-MOST_COPIES]:
        try:
            copy.unlink(missing_ok=True)
        except OSError as error:  # the store is in order all the same
            log.warning("the old copy %s cannot be removed: %s", copy, error.strerror)


def _check_room(source: sqlite3.Connection, path: Path, copy: Path) -> None:
    (pages,), (page_bytes,) = (source.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    disk = os.statvfs(path.parent)
    needed, free = pages * page_bytes + RESERVE_BYTES, disk.f_bavail * disk.f_frsize
    if free < needed:
        raise StoreUnavailable(
            f"there is no room for the copy {copy.name} that is kept before the store changes: {needed >> 20:,} MB are needed, "
            f"{free >> 20:,} MB are free in {path.parent}; make room and start again. Nothing was changed"
        )


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
