"""Outcomes that were promised: kept, sealed, so that whoever asks after a restart still gets them."""

from collections.abc import Callable

import msgspec

from gristmill.ledger.journal import Sealer
from gristmill.model import Outcome
from gristmill.store.base import Store

TABLES = (
    """CREATE TABLE IF NOT EXISTS outcomes (
        id TEXT PRIMARY KEY, tenant TEXT NOT NULL, caller TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, outcome BYTEA NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS outcomes_at ON outcomes (at)",
)
MOST_BYTES = 1_000_000
"""A larger outcome is not kept: what fits no context is in the workspace anyway."""
_KEEP = """INSERT INTO outcomes (id, tenant, caller, at, outcome) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET at = excluded.at, outcome = excluded.outcome"""


class Outcomes:
    """By the id of their execution. ``clock`` is wall time."""

    def __init__(self, store: Store, seal: Sealer, clock: Callable[[], float]) -> None:
        self._store, self._seal, self._clock = store, seal, clock

    async def keep(self, outcome: Outcome, *, tenant: str, caller: str) -> None:
        """Keep it, after what else is written of its execution; when this returns it is in the store.

        Raises:
            StoreUnavailable: it is not.
        """
        text = msgspec.json.encode(outcome)
        if len(text) <= MOST_BYTES:
            row = (outcome.id, tenant, caller, self._clock(), self._seal.seal(text, _place(outcome.id)))
            await self._store.write((_KEEP, row))

    async def find(self, execution: str, *, tenant: str, caller: str) -> Outcome | None:
        """The outcome of an execution of that caller, if it is kept."""
        condition = "id = ? AND tenant = ? AND caller = ?"
        rows = await self._store.read(f"SELECT outcome FROM outcomes WHERE {condition}", execution, tenant, caller)  # noqa: S608
        sealed = rows[0][0] if rows else None
        if not isinstance(sealed, bytes | memoryview):
            return None
        return msgspec.json.decode(self._seal.open(bytes(sealed), _place(execution)), type=Outcome)

    async def prune(self, before: float) -> None:
        """Forget those that are older."""
        await self._store.write(("DELETE FROM outcomes WHERE at < ?", (before,)))


def _place(execution: str) -> str:
    return f"outcome/{execution}"
