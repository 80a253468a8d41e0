"""What a room may ask of the database. SQL is written once, in what SQLite and PostgreSQL share, with ``?`` for values."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Value = str | int | float | bytes | None
Row = tuple[Value, ...]
Statement = tuple[str, Sequence[Value]]

T = TypeVar("T")


class Transaction(Protocol):
    """Statements that take effect together or not at all."""

    def run(self, sql: str, *values: Value) -> list[Row]:
        """Run one statement; its rows, if it has any."""
        ...

    def run_many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        """Run one statement once for each of ``rows``, in their order."""
        ...


class Store(Protocol):
    """A database. Writers are served one after another; what was acknowledged survives the death of the process."""

    async def read(self, sql: str, *values: Value) -> list[Row]:
        """The rows of one query, as of the last commit."""
        ...

    async def write(self, *statements: Statement) -> None:
        """Run ``statements`` in one transaction; returns when they are committed."""
        ...

    async def change(self, work: Callable[[Transaction], T], *, is_brief: bool = False) -> T:
        """Run ``work`` in one transaction, alone among writers. It runs in a thread of the store, or at once where it
        ``is_brief``: it must not wait, and it may be run anew after a rollback."""
        ...

    def write_soon(self, *statements: Statement) -> None:
        """As ``write``, without waiting: in order with all other writes, and reported by the next ``flush`` if it failed."""
        ...

    def write_later(self, *statements: Statement) -> None:
        """As ``write_soon``, a moment later and together with others: for what may be lost with the process."""
        ...

    async def flush(self) -> None:
        """Return when everything handed to ``write_soon`` and ``write_later`` is committed."""
        ...

    async def close(self) -> None:
        """Commit what is waiting and end."""
        ...
