"""What differs between databases, and statements in a transaction of one of them. Everything runs in the store's threads."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from gristmill.store.base import Row, Statement, Value


class Driver:
    """A database. Subclasses name the library."""

    failures: tuple[type[Exception], ...] = ()
    is_quick = False
    """Whether a small transaction takes less than to wake another thread."""

    def connect(self) -> Any:
        """A connection in autocommit mode, so that transactions are ours to begin."""
        raise NotImplementedError

    def connect_hastily(self) -> Any:
        """One that refuses at once what it would have to wait for; only of a driver that is quick."""
        raise NotImplementedError

    def begin(self) -> tuple[str, ...]:
        """The statements that make this connection the one writer."""
        raise NotImplementedError

    def is_lost(self, connection: Any, error: Exception) -> bool:  # noqa: ARG002 - a file is never lost
        """Whether the connection is gone, so that a new one may do what this one could not."""
        return False

    def ping(self) -> tuple[str, ...]:
        """What to ask before a read, where a connection may have been lost since the last."""
        return ()

    def translate(self, sql: str) -> str:
        """``?`` as this driver spells it."""
        return sql

    def run_many(self, cursor: Any, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement once for each of ``rows``, in their order."""
        cursor.executemany(self.translate(sql), rows)

    def reason(self, error: Exception) -> str:
        """One line without secrets."""
        return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


class Statements:
    """A transaction on a connection of a driver."""

    def __init__(self, connection: Any, driver: Driver) -> None:
        self._connection, self._driver = connection, driver

    def run(self, sql: str, *values: Value) -> list[Row]:
        """Run one statement; its rows, if it has any."""
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._driver.translate(sql), values)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
        finally:
            cursor.close()

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement once for each of ``rows``, in their order."""
        if len(rows) == 1:
            self.run(sql, *rows[0])
            return
        cursor = self._connection.cursor()
        try:
            self._driver.run_many(cursor, sql, rows)
        finally:
            cursor.close()

    def run_all(self, statements: Iterable[Statement]) -> None:
        """Run them in their order; those that differ only in their values go together."""
        for sql, alike in groupby(statements, key=lambda statement: statement[0]):
            self.run_many(sql, [values for _, values in alike])
