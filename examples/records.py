"""One database behind a lock: rows as typed dictionaries, parameters only by name. SQLite here, PostgreSQL in ``postgres.py``."""

import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from mcp.server.mcpserver.exceptions import ToolError

Row = TypeVar("Row")
NOBODY = "there is no such record, or it belongs to somebody else"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What one statement did: the rows it gave, and how many it changed."""

    rows: list[dict[str, Any]]
    changed: int


class Database(Protocol):
    """Where statements go, one at a time; SQL is what SQLite and PostgreSQL both understand, with ``:name`` for values."""

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Ran:
        """Run one statement for good."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Sqlite:
    """A SQLite connection. It is not for several threads to share, so the lock guards each statement."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        self.connection = connection
        self._lock = threading.Lock()

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Ran:
        """Run one statement; what it changes is committed."""
        with self._lock, self.connection:
            cursor = self.connection.execute(sql, parameters)
            rows = [dict(row) for row in cursor.fetchall()]
            return Ran(rows=rows, changed=cursor.rowcount)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


class Records:
    """A database that several threads may ask."""

    def __init__(self, database: sqlite3.Connection | Database) -> None:
        self.database: Database = Sqlite(database) if isinstance(database, sqlite3.Connection) else database

    @property
    def connection(self) -> sqlite3.Connection:
        """The SQLite connection below, for whoever copies or examines a file."""
        assert isinstance(self.database, Sqlite)
        return self.database.connection

    def rows(self, kind: type[Row], sql: str, **parameters: Any) -> list[Row]:  # noqa: ARG002  # for the type checker
        """Every row of a query as a ``kind``."""
        return cast("list[Row]", self.database.run(sql, parameters).rows)

    def one(self, kind: type[Row], sql: str, **parameters: Any) -> Row:
        """The only row of a query.

        Raises:
            ToolError: there is none.
        """
        found = self.rows(kind, sql, **parameters)
        if not found:
            raise ToolError(NOBODY)
        return found[0]

    def change(self, sql: str, **parameters: Any) -> None:
        """Execute one statement that writes.

        Raises:
            ToolError: it changed nothing.
        """
        if self.database.run(sql, parameters).changed < 1:
            raise ToolError(NOBODY)

    def add(self, sql: str, **parameters: Any) -> int:
        """Execute one ``INSERT``; the id of the new row.

        Raises:
            ToolError: it added nothing.
        """
        return self.one(dict[str, int], f"{sql} RETURNING id", **parameters)["id"]


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
