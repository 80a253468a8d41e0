"""What has ended is kept for a while: so long, so many and so much of each tenant, and no more than so much of all."""

from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

from gristmill.values import dataclass

ALL = 4
"""How many tenants may have all that one may have before the oldest of anybody goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfRules:
    """What is kept of one tenant, and for how long."""

    seconds: float
    most: int
    bytes: int


class Ended(Protocol):
    """What lies there."""

    tenant: str
    ended: float | None

    @property
    def size(self) -> int:
        """Bytes of it that are kept."""
        ...


class Shelf:
    """Ended runs, in the order of their ends. ``gone`` is told of each that is given up."""

    def __init__(self, rules: ShelfRules, gone: Callable[[Ended], None]) -> None:
        self._rules, self._gone = rules, gone
        self._all: dict[Ended, int] = {}
        self._of: dict[str, deque[Ended]] = {}
        self._bytes: Counter[str] = Counter()

    def put(self, run: Ended) -> None:
        """Keep one that has just ended; older ones of its tenant may go for it."""
        mine = self._of.setdefault(run.tenant, deque())
        self._all[run] = size = run.size
        self._bytes[run.tenant] += size
        mine.append(run)
        while len(mine) > self._rules.most or (len(mine) > 1 and self._bytes[run.tenant] > self._rules.bytes):
            self._remove(mine[0])
        while len(self._all) > 1 and self._bytes.total() > ALL * self._rules.bytes:
            self._remove(next(iter(self._all)))

    def expire(self, now: float) -> None:
        """Give up what has lain there for too long."""
        while self._all and now - ((oldest := next(iter(self._all))).ended or 0) > self._rules.seconds:
            self._remove(oldest)

    def _remove(self, run: Ended) -> None:
        mine = self._of[run.tenant]
        mine.remove(run)  # the first, but where one of a tenant who has few makes room for all
        self._bytes[run.tenant] -= self._all.pop(run)
        if not mine:
            del self._of[run.tenant], self._bytes[run.tenant]
        self._gone(run)
