"""Intervals hold the truth however often one looks, and they narrow."""

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from gristmill.rollout.sequential_bounds import (
    Sums,
    bound_mean,
    bound_mean_difference,
    bound_quantile_ranks,
    bound_share,
    bound_share_difference,
    compute_share_evidence,
    compute_width_factor,
)


def sums(values: list[float]) -> Sums:
    return Sums(count=len(values), total=sum(values), squares=sum(value * value for value in values))


@given(count=st.integers(1, 5_000), share=st.floats(0, 1), alpha=st.floats(1e-6, 0.2))
def test_the_interval_of_a_share_holds_what_was_seen_and_its_ends_are_where_the_evidence_is(
    count: int, share: float, alpha: float
) -> None:
    total = round(share * count)
    found = bound_share(Sums(count=count, total=total, squares=total), alpha)
    assert 0 <= found.low <= found.value <= found.high <= 1
    for end in (found.low, found.high):
        if 0 < end < 1:
            assert math.isclose(compute_share_evidence(total, count, end), math.log(1 / alpha), rel_tol=1e-3, abs_tol=1e-3)


def test_a_share_is_missed_in_fewer_cases_than_alpha_though_one_looks_after_every_observation() -> None:
    drawn, alpha, missed = random.Random(7), 0.1, 0
    for _ in range(300):
        total = 0
        for count in range(1, 600):
            total += drawn.random() < 0.05
            if compute_share_evidence(total, count, 0.05) >= math.log(1 / alpha):
                missed += 1
                break
    assert missed / 300 < alpha


def test_scores_between_0_and_1_are_covered_like_coins() -> None:
    drawn, alpha, missed = random.Random(8), 0.1, 0
    for _ in range(200):
        total = 0.0
        for count in range(1, 400):
            total += drawn.betavariate(2, 6)  # its mean is 0.25
            missed_now = compute_share_evidence(total, count, 0.25) >= math.log(1 / alpha)
            if missed_now:
                missed += 1
                break
    assert missed / 200 < alpha


def test_a_mean_is_missed_in_fewer_cases_than_alpha_though_one_looks_after_every_observation() -> None:
    drawn, alpha, missed = random.Random(9), 0.1, 0
    for _ in range(200):
        new, old = list[float](), list[float]()
        for _step in range(30):
            new += [drawn.lognormvariate(8, 0.5) for _ in range(20)]
            old += [drawn.lognormvariate(8, 0.5) for _ in range(20)]
            found = bound_mean_difference(sums(new), sums(old), alpha)
            if found is not None and not found.low <= 0 <= found.high:
                missed += 1
                break
    assert missed / 200 < alpha


def test_a_single_look_would_be_narrower_and_looking_always_costs_less_than_twice() -> None:
    for count in (100, 1_000, 10_000, 1_000_000):
        assert 1.96 < compute_width_factor(count, 0.05) < 4


def test_no_mean_has_an_interval_before_there_are_enough() -> None:
    assert bound_mean(sums([1.0] * 49), 0.05) is None
    assert bound_mean(sums([1.0] * 50), 0.05) is not None
    assert bound_mean_difference(sums([1.0] * 500), sums([1.0] * 49), 0.05) is None


def test_a_true_difference_is_found() -> None:
    better = bound_share_difference(Sums(count=3_000, total=30), Sums(count=3_000, total=150), 0.05)
    assert better.high < 0
    unknown = bound_share_difference(Sums(count=100, total=1), Sums(count=100, total=5), 0.05)
    assert unknown.low < 0 < unknown.high


def test_ranks_hold_the_quantile_though_one_looks_often() -> None:
    drawn, alpha, missed = random.Random(10), 0.1, 0
    for _ in range(200):
        values = list[float]()
        for _step in range(20):
            values += [drawn.random() for _ in range(50)]
            ordered = sorted(values)
            low, high = bound_quantile_ranks(len(values), 0.9, alpha)
            if (low >= 1 and ordered[low - 1] > 0.9) or (high <= len(values) and ordered[high - 1] < 0.9):
                missed += 1
                break
    assert missed / 200 < alpha


@given(count=st.integers(1, 3_000), share=st.floats(0.01, 0.99), alpha=st.floats(1e-6, 0.2))
def test_ranks_are_in_order_around_the_quantile(count: int, share: float, alpha: float) -> None:
    low, high = bound_quantile_ranks(count, share, alpha)
    assert 0 <= low <= round(count * share) < high <= count + 1
