"""What a task is: a question, the program of a good model, the same by direct calls, and the truth."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from examples.opening import App

Kind = Literal["chat", "report", "sync"]
Call = tuple[str, Mapping[str, Any]]
"""A tool's key and its arguments."""


class Ask(Protocol):
    """One turn of a model that calls tools directly: calls that need not wait for each other go out together."""

    async def __call__(self, *calls: Call) -> list[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One question. ``searches`` are what a model would look for; ``expected`` asks the database, not the tools.

    ``context`` is what the application executes the program with; the model does not write it.
    """

    id: str
    app: App
    kind: Kind
    question: str
    searches: tuple[str, ...]
    program: str
    direct: Callable[[Ask], Awaitable[None]]
    expected: Callable[[sqlite3.Connection], Any]
    context: Mapping[str, Any] = field(default_factory=dict[str, Any])


def rows(truth: sqlite3.Connection, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """Every row of a query."""
    return [tuple(row) for row in truth.execute(sql, values)]
