"""When to try again, with a clock and dice in hand."""

from hypothesis import given
from hypothesis import strategies as st

from gristmill.upstream.circuit_breaker import Backoff, CircuitBreaker


@given(failures=st.integers(0, 10_000), dice=st.floats(0, 1, exclude_max=True))
def test_a_wait_is_never_longer_than_the_longest_nor_shorter_than_half_the_first(failures: int, dice: float) -> None:
    delay = Backoff(first=0.5, longest=60).delay(failures, lambda: dice)
    assert 0.25 <= delay <= 60


def test_waits_double_and_dice_shorten_them() -> None:
    backoff = Backoff(first=1, longest=10)
    assert [backoff.delay(n, lambda: 0.0) for n in (1, 2, 3, 4, 5, 6)] == [0.5, 1, 2, 4, 5, 5]
    assert backoff.delay(1, lambda: 0.5) == 0.75


def test_the_breaker_opens_after_its_limit_and_lets_one_try_after_the_cooldown() -> None:
    now = [100.0]
    breaker = CircuitBreaker(limit=2, cooldown=10, clock=lambda: now[0])
    breaker.record_failure()
    assert not breaker.is_open
    breaker.record_failure()
    assert breaker.is_open
    assert breaker.retry_in == 10
    now[0] += 10
    assert not breaker.is_open
    breaker.record_failure()
    assert breaker.is_open
    breaker.record_success()
    assert (breaker.is_open, breaker.failures, breaker.retry_in) == (False, 0, 0)
