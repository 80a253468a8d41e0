"""What differs between databases, and the statements of a transaction on one of them. All of it runs in the store's threads."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from gristmill.store.base import Row, Statement, Value


class Driver:
    """A kind of database. Each subclass uses one library."""

    name = ""
    failures: tuple[type[Exception], ...] = ()
    tables_query = ""
    """Lists every column of every table that a query can see: rows of a table's name and a column's name."""
    is_quick = False
    """Whether a small transaction takes less time than waking another thread."""

    def connect(self) -> Any:
        """Returns a connection in autocommit mode, so that we begin and end transactions ourselves."""
        raise NotImplementedError

    def connect_without_waiting(self) -> Any:
        """Returns a connection that fails at once where another would wait. Only drivers with ``is_quick`` have it."""
        raise NotImplementedError

    def connect_to_migrate(self) -> Any:
        """Returns a connection that waits long for other writers: they may be copying a large store."""
        raise NotImplementedError

    def keep_copy(self, number: int) -> str:
        """Keeps a copy of the database before it goes to schema version ``number``; returns a sentence about the copy.

        Raises:
            StoreUnavailable: no copy could be kept, so nothing may be changed.
        """
        raise NotImplementedError

    def remove_old_copies(self) -> None:
        """Removes the copies that are too old to keep."""

    def begin_statements(self) -> tuple[str, ...]:
        """Returns the statements that begin a transaction as the only writer."""
        raise NotImplementedError

    def is_lost(self, connection: Any, error: Exception) -> bool:  # noqa: ARG002 - a file is never lost
        """Whether the connection is gone, so that a new one may succeed."""
        return False

    def ping_statements(self) -> tuple[str, ...]:
        """Returns the statements to run before a read, for drivers whose connection may have been lost since the last one."""
        return ()

    def translate(self, sql: str) -> str:
        """Returns ``sql`` in the dialect of this driver, with its placeholder instead of ``?``."""
        return sql

    def run_many(self, cursor: Any, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Runs one statement once for each of ``rows``, in their order."""
        cursor.executemany(self.translate(sql), rows)

    def describe_error(self, error: Exception) -> str:
        """Returns one line that describes ``error``, without secrets."""
        return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


class StoreStatements:
    """The statements of a transaction on one connection: the ``Transaction`` of every driver."""

    def __init__(self, connection: Any, driver: Driver) -> None:
        self._connection, self._driver = connection, driver

    def run(self, sql: str, *values: Value) -> list[Row]:
        """Runs one statement; returns its rows, if it has any."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._driver.translate(sql), values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Runs one statement once for each of ``rows``, in their order."""
        if len(rows) == 1:
            self.run(sql, *rows[0])
            return
        cursor = self._connection.cursor()
        try:
            self._driver.run_many(cursor, sql, rows)
        finally:
            cursor.close()

    def run_all(self, statements: Iterable[Statement]) -> None:
        """Runs ``statements`` in their order; neighbours that differ only in their values are run together."""
        for sql, alike in groupby(statements, key=lambda statement: statement[0]):
            self.run_many(sql, [values for _, values in alike])
