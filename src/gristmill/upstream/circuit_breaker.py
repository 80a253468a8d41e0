"""When to try again: a circuit breaker and a backoff, both pure. The clock and the dice come in as parameters."""

from collections.abc import Callable
from dataclasses import field

from gristmill.values import dataclass

Clock = Callable[[], float]
Dice = Callable[[], float]
"""A random number in [0, 1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Waits that double up to ``longest``, each shortened at random so that servers do not return in step."""

    first: float = 0.5
    longest: float = 60.0

    def delay(self, failures: int, dice: Dice) -> float:
        """Seconds to wait after that many failures in a row."""
        ceiling = min(self.longest, self.first * 2 ** min(max(failures, 1) - 1, 32))
        # At least half: a server that fails at once must not be hammered by an unlucky row of small numbers.
        return ceiling * (0.5 + dice() / 2)


@dataclass(slots=True, kw_only=True)
class Breaker:
    """Open after ``limit`` failures in a row; open means callers are told at once instead of waiting in vain."""

    limit: int = 3
    cooldown: float = 15.0
    clock: Clock
    failures: int = 0
    _opened: float | None = field(default=None)

    @property
    def is_open(self) -> bool:
        """Whether callers should be refused; after the cooldown one may try again."""
        return self._opened is not None and self.clock() - self._opened < self.cooldown

    @property
    def retry_in(self) -> float:
        """Seconds until the next try is allowed."""
        return max(0.0, self._opened + self.cooldown - self.clock()) if self._opened is not None else 0.0

    def succeeded(self) -> None:
        """Something worked: closed, and forgotten."""
        self.failures = 0
        self._opened = None

    def failed(self) -> None:
        """Something failed: perhaps open, and open for a whole cooldown again if the trial failed too."""
        self.failures += 1
        if self.failures >= self.limit:
            self._opened = self.clock()
