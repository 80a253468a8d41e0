"""Steps, guardrails and outcomes in a real store: atomic, seen by every process, never back by itself."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.sections.rollout_section import RolloutConfig
from gristmill.errors import Conflict, NotFound, StoreUnavailable
from gristmill.model import Identity
from gristmill.rollout.arm_outcomes import ArmOutcome, Feedback
from gristmill.rollout.assign_arm import Asker
from gristmill.rollout.compare_arms import report_arms
from gristmill.rollout.measures import MEASURES, Measure
from gristmill.rollout.rollouts import KNOWN_SECONDS, Rollouts
from gristmill.rollout.simulate_rollout import ReplayedOutcomes
from gristmill.store.open_store import open_store
from tests.unit.rollout.rollout_configs import make_config, make_outcome

RAIL = {"when": "error_rate > 1 %", "window": "1h", "minimum": 50}


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def opened(folder: Path, config: RolloutConfig, clock: Clock, **given: Any) -> AsyncGenerator[Rollouts]:
    store = await open_store(folder)
    try:
        yield Rollouts(config, store, clock=clock, ticks=clock, **given)
    finally:
        await store.close()


def use(folder: Path, work: Callable[[Rollouts, Clock], Awaitable[None]], **config: Any) -> None:
    async def run() -> None:
        clock = Clock()
        async with opened(folder, make_config(**config), clock) as rollouts:
            await work(rollouts, clock)

    asyncio.run(run())


async def add(rollouts: Rollouts, clock: Clock, arm: str, count: int, *, bad: int = 0, first: int = 0, **given: Any) -> None:
    for number in range(first, first + count):
        is_bad = number - first < bad
        rollouts.record_outcome(
            make_outcome(number, arm, at=clock.now, failed=is_bad, status="failed" if is_bad else "ok", **given)
        )
    await rollouts.outcomes._store.flush()  # pyright: ignore[reportPrivateUsage]


async def arm_of(rollouts: Rollouts, caller: str = "ann") -> str:
    choice = await rollouts.choose_arm(Asker(identity=Identity(caller=caller)))
    assert choice is not None
    return choice.arm


async def share(rollouts: Rollouts) -> float:
    return sum([await arm_of(rollouts, f"user{number}") == "code" for number in range(400)]) / 400


def test_everybody_has_the_old_arm_before_the_start_and_after_a_rollback(tmp_path: Path) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        assert await share(rollouts) == 0
        await rollouts.take_step("start", by="ann")
        assert 0.05 < await share(rollouts) < 0.15
        for expected in (0.25, 0.5, 1):
            await rollouts.take_step("advance", by="ann")
            assert abs(await share(rollouts) - expected) < 0.07
        with pytest.raises(Conflict, match="last stage"):
            await rollouts.take_step("advance", by="ann")
        await rollouts.take_step("back", by="ann")
        assert abs(await share(rollouts) - 0.5) < 0.07
        await rollouts.take_step("rollback", by="ann", reason="complaints")
        assert await share(rollouts) == 0
        clock.now += 30 * 86_400
        await rollouts.look()
        assert await share(rollouts) == 0
        for step in ("advance", "hold", "back", "rollback"):
            with pytest.raises(Conflict, match="start"):
                await rollouts.take_step(step, by="ann")
        steps = await rollouts.steps.list_steps("try-code")
        assert [one.step for one in steps] == ["rollback", "back", "advance", "advance", "advance", "start"]
        assert (steps[0].from_percent, steps[0].percent, steps[0].reason, steps[0].by) == (50, 0, "complaints", "ann")

    use(tmp_path, work)


def test_the_kill_switch_and_overrides(tmp_path: Path) -> None:
    async def on(rollouts: Rollouts, _clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        choice = await rollouts.choose_arm(Asker(identity=Identity(caller="ann")))
        assert choice is not None
        assert (choice.arm, choice.reason, choice.is_compared) == ("code", "override", False)
        await rollouts.take_step("rollback", by="ann")
        assert await arm_of(rollouts) == "direct"
        await rollouts.take_step("start", by="ann")

    async def off(rollouts: Rollouts, _clock: Clock) -> None:
        assert await arm_of(rollouts) == "direct"

    use(tmp_path, on, users={"ann": "code"})
    use(tmp_path, off, users={"ann": "code"}, enabled=False)


def test_without_a_rollout_there_is_no_arm(tmp_path: Path) -> None:
    async def work(rollouts: Rollouts, _clock: Clock) -> None:
        assert await rollouts.choose_arm(Asker(identity=Identity())) is None
        with pytest.raises(NotFound, match="no rollout is configured"):
            await rollouts.take_step("start", by="ann")

    use(tmp_path, work, name="", arms={}, stages=[])


def test_a_guardrail_rolls_back_with_its_numbers_and_in_every_process_within_a_second(tmp_path: Path) -> None:
    async def work(one: Rollouts, clock: Clock) -> None:
        async with opened(tmp_path, make_config(guardrails=[RAIL]), clock) as other:
            await one.take_step("start", by="ann")
            clock.now += 1
            assert await share(other) > 0
            await add(one, clock, "code", 60, bad=30)
            await add(one, clock, "direct", 60)
            clock.now += 1
            states = await asyncio.gather(one.look(), other.look())
            assert {state.standing for state in states} == {"rolled_back"}
            clock.now += KNOWN_SECONDS
            assert await share(one) == await share(other) == 0
            newest, start = await one.steps.list_steps("try-code")  # one step, though two processes looked
            assert (newest.step, newest.by, newest.reason) == ("rollback", "gristmill", "error_rate > 1 % in the arm code")
            assert newest.numbers["value"] == 0.5
            assert newest.numbers["low"] > 0.01
            assert newest.numbers["conversations"] == 60
            assert start.step == "start"

    use(tmp_path, work, guardrails=[RAIL])


def test_a_guardrail_waits_for_its_minimum_and_for_evidence(tmp_path: Path) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        await add(rollouts, clock, "code", 40, bad=20)
        assert (await rollouts.look()).standing == "running"  # 40 of 50
        await add(rollouts, clock, "code", 200, first=40)
        await add(rollouts, clock, "code", 4, first=400, bad=1)
        (found,) = (await rollouts.describe()).findings
        assert found.is_breached
        assert (await rollouts.look()).standing == "rolled_back"
        clock.now += 10
        await rollouts.take_step("start", by="ann")
        await add(rollouts, clock, "code", 100, first=1_000, bad=2)  # 2 % of 100 may well be chance
        state = await rollouts.look()
        assert state.standing == "running"
        (found,) = (await rollouts.describe()).findings
        assert (found.value, found.is_breached) == (0.02, False)

    use(tmp_path, work, guardrails=[RAIL])


@pytest.mark.parametrize(
    ("then", "standing", "percent"), [("hold", "held", 25), ("back", "held", 10), ("rollback", "rolled_back", 0)]
)
def test_what_a_guardrail_does(tmp_path: Path, then: str, standing: str, percent: float) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        await rollouts.take_step("advance", by="ann")
        await add(rollouts, clock, "code", 100, bad=60)
        clock.now += 1
        state = await rollouts.look()
        assert (state.standing, state.percent) == (standing, percent)
        clock.now += 7_300
        assert (await rollouts.look()).percent == percent  # it does not go on by itself

    use(tmp_path, work, guardrails=[{**RAIL, "then": then}])


def test_a_stage_ends_by_time_only_with_enough_conversations(tmp_path: Path) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        assert (await rollouts.describe()).next_at == clock.now + 3_600
        clock.now += 3_700
        assert (await rollouts.look()).percent == 10
        await add(rollouts, clock, "code", 60)
        assert (await rollouts.look()).percent == 25
        assert (await rollouts.look()).percent == 25
        await rollouts.take_step("hold", by="ann")
        clock.now += 4_000
        assert (await rollouts.look()).percent == 25

    use(tmp_path, work, guardrails=[RAIL])


def test_complaints_count_when_they_are_made(tmp_path: Path) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        await add(rollouts, clock, "code", 5)
        clock.now += 7_200
        for number in range(3):
            who = Identity(caller=f"user{number}")
            for _again in range(2):  # complaining twice counts once
                said = Feedback(outcome=f"code-{number}", identity=who, complaint=True, thumb="down", accuracy=0.0)
                assert await rollouts.outcomes.store_feedback(said) == 1
        with pytest.raises(NotFound):
            await rollouts.outcomes.store_feedback(Feedback(outcome="code-0", identity=Identity(caller="eve"), complaint=True))
        assert (await rollouts.describe()).findings[0].value == 3
        assert (await rollouts.look()).standing == "rolled_back"

    use(tmp_path, work, guardrails=[{"when": "complaints > 2", "window": "1h"}])


def test_without_the_store_everybody_has_the_old_arm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        await rollouts.take_step("advance", by="ann")

        async def fail(_name: str) -> Any:
            raise StoreUnavailable("gone")

        monkeypatch.setattr(rollouts.steps, "read_state", fail)
        clock.now += 1
        assert await share(rollouts) == 0

    use(tmp_path, work)


def test_the_report_says_better_and_worse_only_with_certainty_and_how_many_more_it_needs(tmp_path: Path) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        await add(rollouts, clock, "direct", 400, bad=4, tokens_in=10_000, seconds=1.0)
        await add(rollouts, clock, "code", 400, bad=120, tokens_in=300, seconds=1.0)
        for arm in ("direct", "code"):
            rollouts.record_outcome(make_outcome(9_999, arm, at=clock.now, tokens_in=5_000, seconds=2.0, accuracy=arm == "code"))
        await rollouts.outcomes._store.flush()  # pyright: ignore[reportPrivateUsage]
        report = await report_arms(rollouts, now=clock.now + 1)
        found = {one.figure: one for one in report.differences}
        assert report.percent == 10
        assert [(one.arm, one.conversations) for one in report.arms] == [("direct", 401), ("code", 401)]
        assert found["error_rate"].verdict == "worse"
        assert found["tokens"].verdict == "better"
        assert found["accuracy"].verdict == "not known yet"
        assert found["accuracy"].needed is not None
        assert found["accuracy"].needed > 10
        assert found["p50"].verdict == "not known yet"  # equal
        assert found["code_rate"].needed is None

    use(tmp_path, work)


def test_the_report_is_about_one_stage(tmp_path: Path) -> None:
    async def work(rollouts: Rollouts, clock: Clock) -> None:
        await rollouts.take_step("start", by="ann")
        await add(rollouts, clock, "code", 10)
        clock.now += 100
        await rollouts.take_step("advance", by="ann")
        await rollouts.take_step("hold", by="ann")
        await add(rollouts, clock, "code", 3, first=100)
        clock.now += 100
        await rollouts.take_step("rollback", by="ann")
        clock.now += 100
        await add(rollouts, clock, "code", 7, first=200)
        report = await report_arms(rollouts, now=clock.now)
        assert (report.percent, report.until - report.since) == (25, 100)
        assert report.arms[1].conversations == 3

    use(tmp_path, work)


def test_figures_are_the_same_in_the_store_and_in_a_replay(tmp_path: Path) -> None:
    made: list[ArmOutcome] = [
        make_outcome(
            number, ("code", "direct")[number % 2], failed=number % 3 == 0, seconds=number / 7, first_seconds=number / 9 or None,
            tokens_in=number * 10, tokens_out=number, tokens_cached=number, dollars=number / 1_000, used_code=number % 5 == 0,
            approvals=number % 4, fallbacks=number % 2, repairs=number % 3, complaints=number % 2,
            direct_tokens=None if number % 4 == 0 else number * 50 + 1, accuracy=None if number % 3 else number / 40,
        )
        for number in range(40)
    ]  # fmt: skip

    async def work(rollouts: Rollouts, _clock: Clock) -> None:
        replayed = ReplayedOutcomes()
        for each in made:
            rollouts.record_outcome(each)
            replayed.add(each.arm, each, each.at)
        await rollouts.outcomes._store.flush()  # pyright: ignore[reportPrivateUsage]
        assert await rollouts.outcomes.list_outcomes("try-code", 0, 100) == tuple(made)
        names = [Measure(name=name) for name, about in MEASURES.items() if about.sql and about.kind != "count"]
        for measure in (*names, Measure(name="p99", above=3.0), Measure(name="first_token_p95", above=2.0)):
            for since, until in ((0.0, 100.0), (7.0, 20.0)):
                kept = await rollouts.outcomes.read_sums("try-code", measure, since, until)
                again = await replayed.read_sums("try-code", measure, since, until)
                assert set(kept) == set(again)
                for arm, sums in kept.items():
                    assert sums.count == again[arm].count, measure
                    assert (sums.total, sums.squares) == pytest.approx((again[arm].total, again[arm].squares)), measure

    use(tmp_path, work)
