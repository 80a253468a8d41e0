"""Keeps finished runs for a while, within limits of time, count and bytes per tenant and of bytes for all tenants."""

from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from gristmill.model import Identity

FULL_TENANTS = 4
"""All tenants together may keep the bytes of this many full tenants; beyond that the oldest run of any tenant is removed."""


class ShelfRules(Struct, frozen=True, kw_only=True):
    """Limits of what is kept of one tenant: for how many ``seconds``, how many runs (``most``), and how many ``bytes``."""

    seconds: float
    most: int
    bytes: int


class FinishedRun(Protocol):
    """A run that can be kept: its owner, when it ended, and its size."""

    identity: Identity
    ended: float | None

    @property
    def size(self) -> int:
        """Bytes that keeping this run takes."""
        ...


class FinishedShelf:
    """Finished runs in the order in which they ended. ``on_removed`` is called with each run that is removed."""

    def __init__(self, rules: ShelfRules, on_removed: Callable[[FinishedRun], None]) -> None:
        self._rules, self._on_removed = rules, on_removed
        self._sizes: dict[FinishedRun, int] = {}
        self._by_tenant: dict[str, deque[FinishedRun]] = {}
        self._bytes: Counter[str] = Counter()

    def put(self, run: FinishedRun) -> None:
        """Keeps a run that has just ended; older runs may be removed to make room for it."""
        mine = self._by_tenant.setdefault(tenant := run.identity.tenant, deque())
        self._sizes[run] = size = run.size
        self._bytes[tenant] += size
        mine.append(run)
        while len(mine) > self._rules.most or (len(mine) > 1 and self._bytes[tenant] > self._rules.bytes):
            self._remove(mine[0])
        while len(self._sizes) > 1 and self._bytes.total() > FULL_TENANTS * self._rules.bytes:
            self._remove(next(iter(self._sizes)))

    def expire(self, now: float) -> None:
        """Removes the runs that were kept for longer than the rules allow."""
        while self._sizes and now - ((oldest := next(iter(self._sizes))).ended or 0) > self._rules.seconds:
            self._remove(oldest)

    def _remove(self, run: FinishedRun) -> None:
        tenant = run.identity.tenant
        mine = self._by_tenant[tenant]
        mine.remove(run)  # usually the first; another only when the limit of all tenants removes it
        self._bytes[tenant] -= self._sizes.pop(run)
        if not mine:
            del self._by_tenant[tenant], self._bytes[tenant]
        self._on_removed(run)
