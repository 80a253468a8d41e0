"""Rollouts in SQLite and in PostgreSQL: steps of two processes, figures, reports and feedback are the same."""

import asyncio

import pytest

from gristmill.errors import Conflict
from gristmill.model import Identity
from gristmill.rollout.arm_outcomes import Feedback
from gristmill.rollout.compare_arms import report_arms
from gristmill.rollout.measures import MEASURES, Measure
from gristmill.rollout.rollouts import Rollouts
from gristmill.rollout.simulate_rollout import ReplayedOutcomes
from gristmill.store.open_store import open_store
from tests.integration.store.conftest import Place
from tests.unit.rollout.rollout_configs import make_config, make_outcome

pytestmark = pytest.mark.anyio
RAILS = [
    {"when": "error_rate > 1 %", "window": "1h"}, {"when": "tokens rise > 500 %", "window": "1h"},
    {"when": "complaints > 5", "window": "1h"}, {"when": "p99 > 10 s", "window": "1h"},
]  # fmt: skip


async def test_two_processes_of_one_store(place: Place) -> None:
    stores = [await open_store(place.folder, url=place.url) for _ in range(2)]
    try:
        one, other = (Rollouts(make_config(guardrails=RAILS), store, clock=lambda: 1_000.0) for store in stores)
        await one.take_step("start", by="ann")
        version = (await other.read_state()).version
        taken = await asyncio.gather(
            *(each.take_step("advance", by="ann", version=version) for each in (one, other)), return_exceptions=True
        )
        assert sorted(isinstance(each, Conflict) for each in taken) == [False, True]
        assert (await one.read_state()).percent == (await other.read_state()).percent == 25

        replayed = ReplayedOutcomes()
        for number in range(400):
            is_new = number % 2 == 0
            made = make_outcome(
                number, "code" if is_new else "direct", at=1_000.0 - 0.001 * (400 - number), failed=is_new and number % 4 == 0,
                seconds=number / 100, first_seconds=number / 200 or None, tokens_in=number, tokens_out=3, tokens_cached=1,
                accuracy=None if number % 3 else 0.5, direct_tokens=900 if number % 5 else None, dollars=number / 1_000,
            )  # fmt: skip
            one.record_outcome(made)
            replayed.add(made.arm, made, made.at)
        await stores[0].flush()
        said = Feedback(outcome="code-0", identity=Identity(caller="user0"), complaint=True, accuracy=1.0, thumb="up")
        assert await other.outcomes.store_feedback(said) == 1
        for name, about in MEASURES.items():
            if about.sql and about.kind != "count" and name not in ("accuracy", "complaint_rate"):
                kept = await other.outcomes.read_sums("try-code", Measure(name=name), 0, 2_000)
                again = await replayed.read_sums("try-code", Measure(name=name), 0, 2_000)
                for arm in again:
                    assert kept[arm].count == again[arm].count
                    assert kept[arm].squares == pytest.approx(again[arm].squares)
        report = await report_arms(other, since=0, until=2_000, now=1_000.0)
        found = {each.figure: each.verdict for each in report.differences}
        assert (found["error_rate"], found["dollars"]) == ("worse", "not known yet")
        assert report.arms[1].thumbs == {"up": 1}
        assert (await other.describe()).findings[2].value == 1  # complaints
    finally:
        for store in stores:
            await store.close()
