"""A circuit breaker and a backoff: they decide when to try again. Pure: the clock and the random numbers are parameters."""

from collections.abc import Callable

from msgspec import Struct, field

Clock = Callable[[], float]
Dice = Callable[[], float]
"""Returns a random number in [0, 1)."""


class Backoff(Struct, frozen=True, kw_only=True):
    """Waits that double up to ``longest``.

    Each is shortened at random, so that many servers do not reconnect at the same moment.
    """

    first: float = 0.5
    longest: float = 60.0

    def delay(self, failures: int, dice: Dice) -> float:
        """Returns the seconds to wait after ``failures`` failures in a row."""
        ceiling = min(self.longest, self.first * 2 ** min(max(failures, 1) - 1, 32))
        # At least half the wait: a series of small random numbers must not make us reconnect without pause.
        return ceiling * (0.5 + dice() / 2)


class CircuitBreaker(Struct, kw_only=True):
    """A breaker that opens after ``limit`` failures in a row. While it is open, callers are refused at once and do not wait."""

    limit: int = 3
    cooldown: float = 15.0
    clock: Clock
    failures: int = 0
    _opened: float | None = field(default=None)

    @property
    def is_open(self) -> bool:
        """Whether callers should be refused. After the cooldown callers may try again."""
        return self._opened is not None and self.clock() - self._opened < self.cooldown

    @property
    def retry_in(self) -> float:
        """Returns the seconds until the next attempt is allowed."""
        return max(0.0, self._opened + self.cooldown - self.clock()) if self._opened is not None else 0.0

    def record_success(self) -> None:
        """Records a success: closes the breaker and resets the count of failures."""
        self.failures = 0
        self._opened = None

    def record_failure(self) -> None:
        """Records a failure.

        At the limit the breaker opens; a failed attempt after a cooldown opens it for a whole cooldown again.
        """
        self.failures += 1
        if self.failures >= self.limit:
            self._opened = self.clock()
