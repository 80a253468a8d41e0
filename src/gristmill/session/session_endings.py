"""Tells every process over one store which sessions have ended.

A process keeps interpreters and files that the process that ends a session cannot reach. So the end of a session is a row per
process, which that process deletes when it has dropped everything; until then a deleted session is on record as one that is being
deleted.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

from gristmill.store.base import Row, Store, Transaction

Ending = Literal["deleted", "expired"]

MOST_IN_ONE_QUERY = 500
"""How many handles one query asks for."""

MOST_UNCONFIRMED = 10_000
"""How many ends are looked at together; the rest follows when these are confirmed."""

_FORGET_DELETED = """DELETE FROM sessions WHERE handle = ? AND ending = 'deleted'
    AND NOT EXISTS (SELECT 1 FROM session_endings WHERE session_endings.handle = sessions.handle)"""


def announce_ending(step: Transaction, handle: str, ending: Ending) -> int:
    """Tells every process that ``handle`` has ended; returns how many there are. With none, a deleted session is forgotten."""
    step.run("INSERT INTO session_endings (handle, process) SELECT CAST(? AS TEXT), id FROM instances", handle)
    told = step.run("SELECT COUNT(*) FROM session_endings WHERE handle = ?", handle)[0][0]
    if ending == "deleted":
        step.run(_FORGET_DELETED, handle)
    return int(told or 0)


class SessionEndings:
    """The ends of sessions that processes have yet to confirm."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list_unconfirmed(self) -> dict[str, frozenset[str]]:
        """Returns the handles of ended sessions that each process has yet to drop, by the process's id."""
        rows = await self._store.read("SELECT process, handle FROM session_endings LIMIT ?", MOST_UNCONFIRMED)
        return _group_handles(rows)

    async def confirm(self, process: str, handles: Collection[str]) -> None:
        """Records that ``process`` keeps nothing of ``handles`` any more, or that it has ended itself."""

        def work(step: Transaction) -> None:
            for handle in handles:
                step.run("DELETE FROM session_endings WHERE handle = ? AND process = ?", handle, process)
                step.run(_FORGET_DELETED, handle)

        if handles:
            await self._store.change(work)


def batched_handles(handles: Collection[str]) -> Iterator[Sequence[str]]:
    """Splits ``handles`` into parts that are small enough for one query."""
    ordered = sorted(handles)
    for start in range(0, len(ordered), MOST_IN_ONE_QUERY):
        yield ordered[start : start + MOST_IN_ONE_QUERY]


def _group_handles(rows: Sequence[Row]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for process, handle in rows:
        found.setdefault(str(process), set()).add(str(handle))
    return {process: frozenset(handles) for process, handles in found.items()}
