"""One SQLite database behind a lock: rows as typed dictionaries, parameters only by name."""

import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from mcp.server.mcpserver.exceptions import ToolError

Row = TypeVar("Row")


class Records:
    """A database that several threads may ask. SQLite's connection is not theirs to share, so the lock guards each statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        self.connection = connection
        self._lock = threading.Lock()

    def rows(self, kind: type[Row], sql: str, **parameters: Any) -> list[Row]:  # noqa: ARG002  # for the type checker
        """Every row of a query as a ``kind``."""
        with self._lock:
            found = self.connection.execute(sql, parameters).fetchall()
        return [cast("Row", dict(row)) for row in found]

    def one(self, kind: type[Row], sql: str, **parameters: Any) -> Row:
        """The only row of a query.

        Raises:
            ToolError: there is none.
        """
        found = self.rows(kind, sql, **parameters)
        if not found:
            raise ToolError("there is no such record, or it belongs to somebody else")
        return found[0]

    def change(self, sql: str, **parameters: Any) -> int:
        """Execute one statement that writes; the id of a new row.

        Raises:
            ToolError: it changed nothing.
        """
        with self._lock, self.connection:
            cursor = self.connection.execute(sql, parameters)
        if not cursor.rowcount:
            raise ToolError("there is no such record, or it belongs to somebody else")
        return cursor.lastrowid or 0


def insert(connection: sqlite3.Connection, table: str, rows: list[Mapping[str, Any]]) -> None:
    """Add generated rows, whose keys are the columns. Only for seeds: names of tables and columns are ours."""
    names = list(rows[0])
    marks = ", ".join(f":{name}" for name in names)
    connection.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows)


def open_copy(build: Any, path: Path | None) -> sqlite3.Connection:
    """The generated database: in memory, gone with the process, or kept at ``path`` and generated there once."""
    if path is None:
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        build(connection)
        return connection
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, check_same_thread=False)
    if is_new:
        build(connection)
    return connection
