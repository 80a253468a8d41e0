"""Keeps one redactor per session, or per run without one. Masked values are stored sealed, so that a run can go on elsewhere."""

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.ledger.ledger_keys import derive_key
from gristmill.ledger.record_seal import RecordSeal
from gristmill.store.base import Statement, Store

MOST_OPEN = 256
"""Most redactors in memory; the one used longest ago is dropped first, and reloaded from the store when needed."""


def name_session_scope(space: str) -> str:
    """Returns the scope of the masks of a session, by the session's key."""
    return f"session {space}"


def build_detached_redactor(detector: Detector, master: bytes, scope: str) -> Redactor:
    """Builds a redactor with the placeholders of ``scope`` that stores nothing."""
    return Redactor(MaskVault(partial(derive_key, master, f"masks {scope}")), detector)


class SessionRedactors:
    """The redactors by scope: a session's name, or the root of a run."""

    def __init__(self, detector: Detector, store: Store, master: bytes, clock: Callable[[], float]) -> None:
        self._detector, self._store, self._master, self._clock = detector, store, master, clock
        self._seal = RecordSeal(master)
        self._open: OrderedDict[str, Redactor] = OrderedDict()

    async def get_redactor(self, scope: str, *, is_new: bool) -> Redactor:
        """Returns the redactor of ``scope``; for a new scope there is nothing to load from the store."""
        redactor = self._open.get(scope)
        if redactor is None:
            entries = {} if is_new else await self._load_kept_masks(scope)
            redactor = self._open[scope] = Redactor(self._build_vault(scope, entries), self._detector)
        self._open.move_to_end(scope)
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return redactor

    def learn_credentials(self, credentials: frozenset[str]) -> None:
        """Masks ``credentials`` too, in every session."""
        self._detector.learn_credentials(credentials)

    def forget_session(self, space: str) -> None:
        """Forgets the masks of an ended session, by the session's key; those in the store are deleted with the session."""
        self._open.pop(name_session_scope(space), None)

    def build_detached(self, scope: str) -> Redactor:
        """Builds a redactor with the placeholders of ``scope`` that stores nothing, so it can be used in another thread."""
        return build_detached_redactor(self._detector, self._master, scope)

    def _build_vault(self, scope: str, entries: dict[str, str]) -> MaskVault:
        def keep(placeholder: str, value: str, _kind: str) -> None:
            sealed = self._seal.seal(value.encode("utf-8", "surrogatepass"), f"mask/{scope}/{placeholder}")
            sql = "INSERT INTO masks (scope, placeholder, value, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
            self._store.write_later((sql, (scope, placeholder, sealed, self._clock())))

        return MaskVault(partial(derive_key, self._master, f"masks {scope}"), entries, keep)

    async def _load_kept_masks(self, scope: str) -> dict[str, str]:
        await self._store.flush()
        rows = await self._store.read("SELECT placeholder, value FROM masks WHERE scope = ?", scope)
        return {
            placeholder: self._seal.open(bytes(value), f"mask/{scope}/{placeholder}").decode("utf-8", "surrogatepass")
            for placeholder, value in cast("list[tuple[Any, ...]]", rows)
        }


def build_forget_statements(space: str) -> tuple[Statement, ...]:
    """Returns the statements that delete the masks of a session that has ended."""
    return (("DELETE FROM masks WHERE scope = ?", (name_session_scope(space),)),)
