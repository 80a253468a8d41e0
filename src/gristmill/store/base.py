"""The interface of the database. SQL is written once, in the dialect that SQLite and PostgreSQL share, with ``?`` for values."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Value = str | int | float | bytes | None
Row = tuple[Value, ...]
Statement = tuple[str, Sequence[Value]]

T = TypeVar("T")


class Transaction(Protocol):
    """Statements that take effect together or not at all."""

    def run(self, sql: str, *values: Value) -> list[Row]:
        """Runs one statement; returns its rows, if it has any."""
        ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Runs one statement once for each of ``rows``, in their order."""
        ...


class Store(Protocol):
    """A database. Writers are served one after another; a committed write survives the end of the process."""

    async def read(self, sql: str, *values: Value) -> list[Row]:
        """Returns the rows of one query, as of the last commit."""
        ...

    async def write(self, *statements: Statement) -> None:
        """Runs ``statements`` in one transaction; returns when they are committed."""
        ...

    async def change(self, work: Callable[[Transaction], T], *, is_brief: bool = False) -> T:
        """Runs ``work`` in one transaction, with no other writer at the same time; returns its result.

        It runs in a thread of the store, or at once in the caller's thread if it ``is_brief``. It must not wait, and it may be
        run
        again after a rollback.
        """
        ...

    def write_soon(self, *statements: Statement) -> None:
        """Does the same as ``write`` without waiting: in order with all other writes. The next ``flush`` reports a failure."""
        ...

    def write_later(self, *statements: Statement) -> None:
        """Does the same as ``write_soon``, a little later and with others: for rows that may be lost with the process."""
        ...

    async def flush(self) -> None:
        """Returns when everything handed to ``write_soon`` and ``write_later`` is committed."""
        ...

    async def close(self) -> None:
        """Commits what is waiting and closes the database."""
        ...
