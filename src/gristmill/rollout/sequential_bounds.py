"""Intervals that stay valid however often one looks at them: confidence sequences.

- Shares and scores between 0 and 1: the beta-binomial mixture (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon,
  "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 2021). Exact for any number of
  observations. Scores between 0 and 1 are covered, too: the likelihood ratio is convex in the score, so its mean is at most
  that of a coin with the same mean.
- Means of anything else: the normal mixture with estimated variance (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas,
  "Time-uniform central limit theory and asymptotic confidence sequences", Annals of Statistics 2024). Valid for large samples, so
  there is no interval below ``LEAST_FOR_MEANS`` observations.
"""

import math
from collections.abc import Callable

from msgspec import Struct

LEAST_FOR_MEANS = 50
"""Observations of each arm below which a mean has no interval."""
TUNED_FOR = 1_000
"""The number of observations at which the intervals of means are narrowest."""
_STEPS = 40
"""Halvings of an interval when its end is searched: to a millionth of a millionth."""


class Interval(Struct, frozen=True, kw_only=True):
    """A figure with the interval that holds the true one."""

    value: float
    low: float
    high: float


class Sums(Struct, frozen=True, kw_only=True):
    """The number of observations, their sum and the sum of their squares."""

    count: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float:
        """Returns the mean; 0 of nothing."""
        return self.total / self.count if self.count else 0.0

    @property
    def variance(self) -> float:
        """Returns the variance of one observation."""
        if self.count < 2:
            return 0.0
        return max(0.0, (self.squares - self.count * self.mean**2) / (self.count - 1))

    def scale(self, factor: float) -> "Sums":
        """Returns what the sums would be with ``factor`` times as many observations of the same kind."""
        count = round(self.count * factor)
        exact = count / self.count if self.count else 0.0
        return Sums(count=count, total=self.total * exact, squares=self.squares * exact)


def compute_share_evidence(total: float, count: int, share: float) -> float:
    """Returns the logarithm of the evidence against the true share being ``share``: above ln(1/alpha) it is excluded."""
    return _compute_mixture(total, count) - _times_log(total, share) - _times_log(count - total, 1 - share)


def bound_share(sums: Sums, alpha: float) -> Interval:
    """Returns the interval of a share, or of the mean of scores between 0 and 1."""
    if not sums.count:
        return Interval(value=0.0, low=0.0, high=1.0)
    value = min(1.0, max(0.0, sums.mean))
    total = value * sums.count  # within its bounds in spite of rounding
    missing, limit = sums.count - total, _compute_mixture(total, sums.count) - math.log(1 / alpha)

    def is_excluded(share: float) -> bool:
        return _times_log(total, share) + _times_log(missing, 1 - share) <= limit

    low = 0.0 if value == 0 or not is_excluded(0.0) else _search_end(0.0, value, is_excluded)
    high = 1.0 if value == 1 or not is_excluded(1.0) else _search_end(1.0, value, is_excluded)
    return Interval(value=value, low=low, high=high)


def bound_share_difference(new: Sums, old: Sums, alpha: float) -> Interval:
    """Returns the interval of the difference of two shares: each has half of the error."""
    one, other = bound_share(new, alpha / 2), bound_share(old, alpha / 2)
    return Interval(value=one.value - other.value, low=one.low - other.high, high=one.high - other.low)


def bound_mean(sums: Sums, alpha: float) -> Interval | None:
    """Returns the interval of a mean; None while there are too few observations."""
    if sums.count < LEAST_FOR_MEANS:
        return None
    width = math.sqrt(sums.variance / sums.count) * compute_width_factor(sums.count, alpha)
    return Interval(value=sums.mean, low=sums.mean - width, high=sums.mean + width)


def bound_mean_difference(new: Sums, old: Sums, alpha: float, *, factor: float = 1.0) -> Interval | None:
    """Returns the interval of ``mean(new) - factor * mean(old)``; None while there are too few observations."""
    if min(new.count, old.count) < LEAST_FOR_MEANS:
        return None
    value = new.mean - factor * old.mean
    error = math.sqrt(new.variance / new.count + factor**2 * old.variance / old.count)
    width = error * compute_width_factor(new.count + old.count, alpha)
    return Interval(value=value, low=value - width, high=value + width)


def compute_width_factor(count: int, alpha: float) -> float:
    """Returns how many standard errors wide an interval is after ``count`` observations; a single look would need about 2."""
    tuned = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / TUNED_FOR
    scaled = count * tuned
    return math.sqrt(2 * (scaled + 1) / scaled * math.log(math.sqrt(scaled + 1) / alpha))


def bound_quantile_ranks(count: int, share: float, alpha: float) -> tuple[int, int]:
    """Returns the ranks (from 1) of the ordered observations between which the quantile lies; 0 and count + 1 mean: unknown.

    The number of observations below the true quantile is a sum of coins with the known chance ``share``: numbers that the
    evidence excludes are impossible ranks (Howard and Ramdas, "Sequential estimation of quantiles", Bernoulli 2022).
    """
    limit, middle = math.log(1 / alpha), round(count * share)
    low, high = 0, middle
    while low < high:  # the smallest number below that is not excluded
        rank = (low + high) // 2
        low, high = (rank + 1, high) if compute_share_evidence(rank, count, share) >= limit else (low, rank)
    first = low
    low, high = middle, count
    while low < high:  # the largest
        rank = (low + high + 1) // 2
        low, high = (low, rank - 1) if compute_share_evidence(rank, count, share) >= limit else (rank, high)
    return first, low + 1


def _search_end(outside: float, inside: float, is_excluded: Callable[[float], bool]) -> float:
    for _ in range(_STEPS):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if is_excluded(middle) else (outside, middle)
    return outside


def _compute_mixture(total: float, count: int) -> float:
    """Returns the logarithm of how likely the observations are if every share is possible (Jeffreys' prior)."""
    return _log_beta(total + 0.5, max(0.0, count - total) + 0.5) - _log_beta(0.5, 0.5)


def _times_log(number: float, share: float) -> float:
    if number <= 0:
        return 0.0
    return number * math.log(share) if share > 0 else -math.inf


def _log_beta(one: float, other: float) -> float:
    return math.lgamma(one) + math.lgamma(other) - math.lgamma(one + other)
