"""Whose values a session has seen, as far as flow rules ask: the values are remembered in memory only, this for good."""

from collections.abc import Callable, Sequence

from gristmill.store.base import Statement, Store

TABLES = (
    """CREATE TABLE IF NOT EXISTS flow_sources (
        scope TEXT NOT NULL, tool TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, PRIMARY KEY (scope, tool))""",
)


class Sources:
    """The tools of which a session got values, by the key of the session."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock

    async def seen(self, scope: str) -> tuple[str, ...]:
        """The tools whose values this session may hold, from whatever process."""
        rows = await self._store.read("SELECT tool FROM flow_sources WHERE scope = ? ORDER BY tool", scope)
        return tuple(str(row[0]) for row in rows)

    async def note(self, scope: str, tools: Sequence[str]) -> None:
        """Keep that a session has seen values of ``tools``; when this returns it is kept.

        Raises:
            StoreUnavailable: it could not be kept, so the values must not be handed over.
        """
        sql = "INSERT INTO flow_sources (scope, tool, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        await self._store.write(*((sql, (scope, tool, self._clock())) for tool in tools))


def forget_sources(scope: str) -> tuple[Statement, ...]:
    """What is deleted with a session."""
    return (("DELETE FROM flow_sources WHERE scope = ?", (scope,)),)
