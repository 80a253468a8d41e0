"""A bad arm is rolled back in time, a good one grows to the end, and equal arms are left alone."""

import asyncio
from typing import Any

import pytest

from gristmill.errors import NotFound
from gristmill.rollout.simulate_rollout import Simulation, make_up_outcomes, simulate_rollout
from tests.unit.rollout.rollout_configs import make_config, make_outcome

RAILS: list[dict[str, Any]] = [
    {"when": "error_rate > 1 %", "window": "1h"},
    {"when": "p99 > 10 s", "window": "1h", "then": "back"},
    {"when": "accuracy drop > 5 %", "window": "1h"},
    {"when": "token_reduction < 95 %", "window": "1h", "then": "hold"},
]
DAY = 86_400.0


def simulate(
    errors: dict[str, float], *, seed: int = 0, rails: list[dict[str, Any]] = RAILS[:3], conversations: int = 12_000
) -> Simulation:
    config = make_config(guardrails=rails)
    return asyncio.run(
        simulate_rollout(config, make_up_outcomes(config, errors, conversations=conversations, seconds=DAY / 2, seed=seed))
    )


def test_a_good_arm_grows_through_all_stages() -> None:
    found = simulate({"direct": 0.002, "code": 0.002})
    assert [(step.step, step.percent) for step in found.steps] == [("advance", 25), ("advance", 50), ("advance", 100)]
    assert (found.standing, found.percent) == ("running", 100)


@pytest.mark.parametrize("seed", range(5))
def test_a_bad_arm_is_rolled_back_in_its_first_window_and_for_good(seed: int) -> None:
    found = simulate({"direct": 0.002, "code": 0.2}, seed=seed)
    (step,) = found.steps
    assert (step.step, step.percent, found.standing) == ("rollback", 0, "rolled_back")
    # 1,000 conversations arrive in a window of an hour. Beyond the 100 of the new arm that every judgement needs, fewer than 1 %
    # of the window have passed, failed or not.
    assert step.conversations["code"] < 100 + 0.01 * 1_000
    assert step.failed["code"] < 0.35 * step.conversations["code"]
    assert "error_rate > 1 %" in step.reason


def test_an_arm_that_is_somewhat_bad_is_rolled_back_too() -> None:
    found = simulate({"direct": 0.002, "code": 0.04}, seed=3)
    assert found.standing == "rolled_back"
    assert found.steps[-1].failed["code"] < 100


def test_an_arm_that_costs_as_many_tokens_is_held() -> None:
    found = simulate({}, rails=RAILS)
    assert [(step.step, step.percent) for step in found.steps] == [("hold", 10)]
    assert "token_reduction < 95 %" in found.steps[0].reason


def test_equal_arms_are_not_rolled_back() -> None:
    acted = [simulate({"direct": 0.008, "code": 0.008}, seed=seed, conversations=3_000).standing for seed in range(5)]
    assert acted.count("running") == 5


@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_equal_arms_are_rolled_back_in_fewer_than_1_of_100_rollouts() -> None:
    acted = [simulate({"direct": 0.0099, "code": 0.0099}, seed=seed, conversations=3_000).standing for seed in range(400)]
    assert acted.count("running") > 0.99 * 400


def test_an_arm_without_outcomes_cannot_be_replayed() -> None:
    config = make_config()
    with pytest.raises(NotFound, match="no outcome of the arm direct"):
        asyncio.run(simulate_rollout(config, [make_outcome(1)]))
