"""One redactor per session, or per run without one. What masks stand for is kept sealed, so that a run can go on elsewhere."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import Vault
from gristmill.ledger.ledger_keys import derive
from gristmill.ledger.record_seal import Seal
from gristmill.store.base import Store

TABLES = (
    """CREATE TABLE IF NOT EXISTS masks (
        scope TEXT NOT NULL, placeholder TEXT NOT NULL, value BYTEA NOT NULL, at DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (scope, placeholder))""",
)
OPEN = 256
"""Redactors in memory; the one used longest ago goes first, and comes back from the store."""


class Redactors:
    """The redactors by scope: a session's name, or the root of a run."""

    def __init__(self, detector: Detector, store: Store, master: bytes, clock: Callable[[], float]) -> None:
        self._detector, self._store, self._master, self._clock = detector, store, master, clock
        self._seal = Seal(master)
        self._open: OrderedDict[str, Redactor] = OrderedDict()

    async def of(self, scope: str, *, is_new: bool) -> Redactor:
        """The redactor of ``scope``; one that is new has nothing in the store to look for."""
        redactor = self._open.get(scope)
        if redactor is None:
            entries = {} if is_new else await self._kept(scope)
            redactor = self._open[scope] = Redactor(self._vault(scope, entries), self._detector)
        self._open.move_to_end(scope)
        while len(self._open) > OPEN:
            self._open.popitem(last=False)
        return redactor

    def _vault(self, scope: str, entries: dict[str, str]) -> Vault:
        def keep(placeholder: str, value: str, _kind: str) -> None:
            sealed = self._seal.seal(value.encode("utf-8", "surrogatepass"), f"mask/{scope}/{placeholder}")
            sql = "INSERT INTO masks (scope, placeholder, value, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
            self._store.write_later((sql, (scope, placeholder, sealed, self._clock())))

        return Vault(partial(derive, self._master, f"masks {scope}"), entries, keep)

    async def _kept(self, scope: str) -> dict[str, str]:
        await self._store.flush()
        rows = await self._store.read("SELECT placeholder, value FROM masks WHERE scope = ?", scope)
        return {
            placeholder: self._seal.open(bytes(value), f"mask/{scope}/{placeholder}").decode("utf-8", "surrogatepass")
            for placeholder, value in cast("list[tuple[Any, ...]]", rows)
        }
