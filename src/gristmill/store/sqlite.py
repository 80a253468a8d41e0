"""The default store: one SQLite file with a write-ahead log (WAL), so that a killed process leaves no half-done write."""

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
from gristmill.store.sqlite_copy import keep_copy, remove_old_copies

Sync = Literal["normal", "full"]

BUSY_SECONDS = 10.0
"""How long we wait for another process that holds the file before we report an error."""
MIGRATE_SECONDS = 600.0
"""How long we wait for another process that brings the file to a newer schema version."""


_ONE_ROW = re.compile(r"\bVALUES\s*(\(\?(?:, \?)*\))(?!\s*,)")
_MOST_ROWS = 64
_creation_lock = threading.Lock()
"""Held while a file is created and opened: see ``Sqlite._create_file``."""


class Sqlite(Driver):
    """The driver for Python's own sqlite3 library."""

    name = "SQLite"
    failures = (sqlite3.Error,)
    tables_query = """SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table'"""

    def __init__(self, path: Path, *, sync: Sync = "normal", read_only: bool = False) -> None:
        self._path, self._sync, self._read_only = path, sync, read_only
        self.is_quick = sync == "normal" and not read_only  # a commit writes to the kernel's memory and waits for no disk

    def connect(self) -> sqlite3.Connection:
        """Opens the file. Only its owner may read it, because it holds answers of tools."""
        if self._read_only:
            # On a read-only file system SQLite cannot create its side files; no process can write there, so it needs none.
            sealed = self._path.exists() and os.statvfs(self._path).f_flag & os.ST_RDONLY
            address = f"file:{quote(str(self._path))}?" + ("immutable=1" if sealed else "mode=ro")
            return sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        return self._open_file(BUSY_SECONDS)

    def connect_without_waiting(self) -> sqlite3.Connection:
        """Opens the file for small writes.

        It does not wait for locks and leaves checkpoints of the log to the other connections.
        """
        connection = self._open_file(0)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        return connection

    def connect_to_migrate(self) -> sqlite3.Connection:
        """Opens the file, to change its schema."""
        return self._open_file(MIGRATE_SECONDS)

    def keep_copy(self, number: int) -> str:
        """Copies the file; returns a sentence about the copy."""
        return f"it was copied to {keep_copy(self._path, number)} before"

    def remove_old_copies(self) -> None:
        """Removes all copies but the newest."""
        remove_old_copies(self._path)

    def _open_file(self, patience: float) -> sqlite3.Connection:
        with _creation_lock:
            self._create_file()
            connection = sqlite3.connect(self._path, timeout=patience, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL survives the end of the process; a power cut may lose the last moments, never the file. FULL survives both.
        connection.execute(f"PRAGMA synchronous = {self._sync}")
        return connection

    def _create_file(self) -> None:
        """Creates the file, readable by its owner only.

        A file that exists is never opened here: closing it would release the locks that other connections of this process hold on
        it, and the file could be damaged.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if os.statvfs(self._path.parent).f_flag & os.ST_RDONLY:
            # SQLite's own message would only be that it cannot open the file.
            raise OSError(
                errno.EROFS, f"read-only file system; set store.path to a folder that can be written: {self._path.parent}"
            )
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            pass

    def run_many(self, cursor: sqlite3.Cursor, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Runs the rows as statements of many rows each.

        For each statement the library releases Python's lock (GIL), and getting it back from a busy thread takes longer than a
        row.
        """
        at = 0
        while at < len(rows):
            count = min(_MOST_ROWS, 1 << ((len(rows) - at).bit_length() - 1))  # few sizes, so that prepared statements are reused
            if (wide := _widen_insertion(sql, count)) is None:
                super().run_many(cursor, sql, rows[at:])
                return
            cursor.execute(wide, [value for row in rows[at : at + count] for value in row])
            at += count

    def begin_statements(self) -> tuple[str, ...]:
        """Returns the statement that takes the write lock at once: a read that becomes a write could not wait for the lock."""
        return ("BEGIN IMMEDIATE",)


@lru_cache(maxsize=256)
def _widen_insertion(sql: str, count: int) -> str | None:
    """Returns an insertion of one row as an insertion of ``count`` rows; None if the statement is more complex."""
    found = _ONE_ROW.search(sql)
    if found is None or "RETURNING" in sql:
        return None
    return f"{sql[: found.start(1)]}{', '.join([found[1]] * count)}{sql[found.end(1) :]}"
