"""The default store: one SQLite file, written ahead (WAL), so that a killed process leaves nothing half done."""

import errno
import os
import re
import sqlite3
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from gristmill.store.base import Value
from gristmill.store.driver import Driver

Sync = Literal["normal", "full"]

BUSY_SECONDS = 10.0
"""How long another process may hold the file before we say so."""


_ROW = re.compile(r"\bVALUES\s*(\(\?(?:, \?)*\))(?!\s*,)")
_MOST_ROWS = 64
_creating = threading.Lock()
"""Held while a file is made and opened: see ``Sqlite._create``."""


class Sqlite(Driver):
    """The driver of Python's own library."""

    failures = (sqlite3.Error,)

    def __init__(self, path: Path, *, sync: Sync = "normal", read_only: bool = False) -> None:
        self._path, self._sync, self._read_only = path, sync, read_only
        self.is_quick = sync == "normal" and not read_only  # it writes to the kernel's memory, no disk is waited for

    def connect(self) -> sqlite3.Connection:
        """Open the file; only its owner may read it, since it holds what tools answered."""
        if self._read_only:
            # On a read-only file system SQLite can make no files beside its own; nobody can write there, so it needs none.
            sealed = self._path.exists() and os.statvfs(self._path).f_flag & os.ST_RDONLY
            address = f"file:{quote(str(self._path))}?" + ("immutable=1" if sealed else "mode=ro")
            return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        return self._open(BUSY_SECONDS)

    def connect_hastily(self) -> sqlite3.Connection:
        """Open the file for small writes; what takes long, waiting and tidying up, is left to others."""
        connection = self._open(0)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        return connection

    def _open(self, patience: float) -> sqlite3.Connection:
        with _creating:
            self._create()
            connection = sqlite3.connect(self._path, timeout=patience, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL survives the death of the process; a power cut may cost the last moments, never the file. FULL survives both.
        connection.execute(f"PRAGMA synchronous = {self._sync}")
        return connection

    def _create(self) -> None:
        """Make the file for its owner's eyes only. One that exists is never opened here: closing it would give up the locks
        that other connections of this process hold on it, and with them the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if os.statvfs(self._path.parent).f_flag & os.ST_RDONLY:
            # SQLite itself would only say that it cannot open the file.
            raise OSError(
                errno.EROFS, f"read-only file system; set store.path to a folder that can be written: {self._path.parent}"
            )
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            pass

    def run_many(self, cursor: sqlite3.Cursor, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """As statements of many rows. The library lets go of Python's lock for every statement, and to get it back from a busy
        thread takes longer than a row."""
        at = 0
        while at < len(rows):
            count = min(
                _MOST_ROWS, 1 << ((len(rows) - at).bit_length() - 1)
            )  # few sizes, so that prepared statements are used again
            if (wide := _widened(sql, count)) is None:
                super().run_many(cursor, sql, rows[at:])
                return
            cursor.execute(wide, [value for row in rows[at : at + count] for value in row])
            at += count

    def begin(self) -> tuple[str, ...]:
        """Take the write lock at once: a read that becomes a write could not wait for it."""
        return ("BEGIN IMMEDIATE",)


@lru_cache(maxsize=256)
def _widened(sql: str, count: int) -> str | None:
    """An insertion of one row as one of ``count`` rows; nothing if it is not that simple."""
    found = _ROW.search(sql)
    if found is None or "RETURNING" in sql:
        return None
    return f"{sql[: found.start(1)]}{', '.join([found[1]] * count)}{sql[found.end(1) :]}"
