"""Compares the arms of one stage: every difference with an interval that stays valid however often one looks at it."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from gristmill.rollout.arm_outcomes import ArmOutcomes
from gristmill.rollout.measures import MEASURES, Measure, MeasureKind
from gristmill.rollout.rollout_state import RolloutStep
from gristmill.rollout.rollouts import Rollouts
from gristmill.rollout.sequential_bounds import (
    Interval,
    Sums,
    bound_mean_difference,
    bound_quantile_ranks,
    bound_share_difference,
)

Verdict = str
"""``better``, ``worse``, ``different`` (where neither is better) or ``not known yet``."""
NOT_KNOWN = "not known yet"
NOTHING = Sums()
MOST_NEEDED = 10_000_000
"""More conversations than these are not counted: the difference is too small to be seen."""
REPORTED = tuple(name for name, about in MEASURES.items() if about.kind in ("share", "mean", "quantile"))


class ArmTotals(Struct, frozen=True, kw_only=True):
    """What one arm did in the period: conversations, statuses of turns, thumbs."""

    arm: str
    conversations: int
    statuses: Mapping[str, int]
    thumbs: Mapping[str, int]


class ArmDifference(Struct, frozen=True, kw_only=True):
    """One figure of a new arm and of the old one. ``low`` to ``high`` holds the true difference (new less old)."""

    arm: str
    figure: str
    unit: str
    old: float
    new: float
    low: float | None
    high: float | None
    verdict: Verdict
    needed: int | None
    """How many more conversations (of all arms together) would show this difference, if it is real; None if none would."""


class ArmReport(Struct, frozen=True, kw_only=True):
    """A comparison of the arms in one stage."""

    rollout: str
    since: float
    until: float
    percent: float
    confidence: float
    arms: tuple[ArmTotals, ...]
    differences: tuple[ArmDifference, ...]


async def report_arms(rollouts: Rollouts, *, since: float | None = None, until: float | None = None, now: float) -> ArmReport:
    """Compares the arms in the present stage, or in the last one with new arms, or between two times.

    Only one stage: where the shares of the arms change, good and bad days would fall on the arms unevenly. The certainty holds
    for all statements of the report together.

    Raises:
        NotFound: no rollout is configured.
    """
    state = await rollouts.read_state()
    steps = await rollouts.steps.list_steps(state.name)
    began, ended, percent = find_stage_period(steps, now)
    since, until = began if since is None else since, ended if until is None else until
    config, outcomes = rollouts.config, rollouts.outcomes
    new_arms = [name for name in config.arms if name != config.baseline]
    sums = {name: await outcomes.read_sums(state.name, Measure(name=name), since, until) for name in _list_summed()}
    counted = sums["error_rate"]
    statuses = await outcomes.count_statuses(state.name, since, until)
    thumbs = await outcomes.count_thumbs(state.name, since, until)
    alpha = (1 - config.confidence) / (len(REPORTED) * len(new_arms))
    differences: list[ArmDifference] = []
    for arm in new_arms:
        for figure in REPORTED:
            about = MEASURES[figure]
            if about.kind == "quantile":
                one = await _compare_quantiles(outcomes, state.name, (arm, config.baseline), figure, (since, until), alpha)
            else:
                of = sums[figure]
                one = compare_sums(arm, figure, of.get(arm, NOTHING), of.get(config.baseline, NOTHING), alpha)
            if one is not None:
                differences.append(one)
    return ArmReport(
        rollout=state.name, since=since, until=until, percent=percent, confidence=config.confidence,
        arms=tuple(
            ArmTotals(
                arm=arm, conversations=counted.get(arm, NOTHING).count, statuses=statuses.get(arm, {}), thumbs=thumbs.get(arm, {})
            )
            for arm in (config.baseline, *new_arms)
        ),
        differences=tuple(differences),
    )  # fmt: skip


def find_stage_period(steps: tuple[RolloutStep, ...], now: float) -> tuple[float, float, float]:
    """Returns when the last stage with new arms began and ended, and its percent; ``steps`` are the newest first."""
    ended = now
    for number, step in enumerate(steps):
        if step.percent == 0:
            ended = step.at
        elif number + 1 == len(steps) or steps[number + 1].percent != step.percent:
            return step.at, ended, step.percent
    return 0.0, now, 0.0


def compare_sums(arm: str, figure: str, new: Sums, old: Sums, alpha: float) -> ArmDifference | None:
    """Compares a share or a mean of two arms; None where one of them has none."""
    if not (new.count and old.count):
        return None
    about = MEASURES[figure]
    bound = bound_share_difference if about.kind == "share" else bound_mean_difference
    interval = bound(new, old, alpha)
    return _build_difference(
        arm, figure, about, (old.mean, new.mean), interval,
        lambda: _count_needed(lambda factor: bound(new.scale(factor), old.scale(factor), alpha), new.count + old.count),
    )  # fmt: skip


async def _compare_quantiles(
    outcomes: ArmOutcomes, rollout: str, arms: tuple[str, str], figure: str, period: tuple[float, float], alpha: float
) -> ArmDifference | None:
    about = MEASURES[figure]
    counts = await outcomes.count_turns(rollout, about.column, *period)
    found: list[tuple[float, float | None, float | None]] = []
    for arm in arms:
        if not (count := counts.get(arm, 0)):
            return None
        low, high = bound_quantile_ranks(count, about.quantile, alpha / 2)
        ranks = (min(count, max(1, round(about.quantile * count + 0.5))), low, high)
        value, *ends = [await outcomes.read_ranked(rollout, arm, about.column, *period, rank) for rank in ranks]
        found.append((value or 0.0, *ends))  # pyright: ignore[reportArgumentType]
    (new, new_low, new_high), (old, old_low, old_high) = found
    interval = None
    if None not in (new_low, new_high, old_low, old_high):
        interval = Interval(value=new - old, low=(new_low or 0) - (old_high or 0), high=(new_high or 0) - (old_low or 0))
    return _build_difference(arms[0], figure, about, (old, new), interval, lambda: None)


def _build_difference(
    arm: str, figure: str, about: MeasureKind, values: tuple[float, float], interval: Interval | None,
    count_needed: Callable[[], int | None],
) -> ArmDifference:  # fmt: skip
    old, new = values
    verdict, needed = NOT_KNOWN, None
    if interval is not None and (interval.low > 0 or interval.high < 0):
        is_less = interval.high < 0
        verdict = "different" if about.less_is_better is None else "better" if is_less == about.less_is_better else "worse"
    elif old != new:
        needed = count_needed()
    return ArmDifference(
        arm=arm, figure=figure, unit=about.unit, old=old, new=new, low=interval.low if interval else None,
        high=interval.high if interval else None, verdict=verdict, needed=needed,
    )  # fmt: skip


def _count_needed(bound: Callable[[float], Interval | None], count: int) -> int | None:
    """Returns how many more conversations show the difference, if the others are like those that were seen."""

    def shows(factor: float) -> bool:
        found = bound(factor)
        return found is not None and (found.low > 0 or found.high < 0)

    low, high = 1.0, 2.0
    while not shows(high):
        low, high = high, high * 2
        if high * count > MOST_NEEDED:
            return None
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return max(1, round((high - 1) * count + 0.5))


def _list_summed() -> tuple[str, ...]:
    return tuple(name for name in REPORTED if MEASURES[name].kind != "quantile")
