"""The default store: one SQLite file, written ahead (WAL), so that a killed process leaves nothing half done."""

import os
import sqlite3
from pathlib import Path

from gristmill.store.database import Driver

BUSY_SECONDS = 10.0
"""How long another process may hold the file before we say so."""


class Sqlite(Driver):
    """The driver of Python's own library."""

    failures = (sqlite3.Error,)

    def __init__(self, path: Path) -> None:
        self._path = path

    def connect(self) -> sqlite3.Connection:
        """Open the file; only its owner may read it, since it holds what tools answered."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        # Survives the death of the process; a power cut may cost the last moments, never the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def begin(self) -> str:
        """Take the write lock at once: a read that becomes a write could not wait for it."""
        return "BEGIN IMMEDIATE"
