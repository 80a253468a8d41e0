"""Judges guardrails: a condition counts as true only when chance can no longer explain what was seen."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from gristmill.config.sections.rollout_section import RolloutConfig, parse_duration, split_condition
from gristmill.rollout.arm_outcomes import OutcomeReader
from gristmill.rollout.measures import MEASURES, Measure, check_measure
from gristmill.rollout.rollout_state import RolloutState
from gristmill.rollout.sequential_bounds import (
    Interval,
    Sums,
    bound_mean,
    bound_mean_difference,
    bound_share,
    bound_share_difference,
)

Consequence = Literal["hold", "back", "rollback"]
NOTHING = Sums()


class Guardrail(Struct, frozen=True, kw_only=True):
    """One condition that must not come true."""

    when: str
    metric: str
    change: str | None
    sign: str
    limit: float
    window: float
    minimum: int
    then: Consequence

    @property
    def measure(self) -> Measure:
        """Returns what is added up for it; of a quantile, the share of turns above the limit."""
        return Measure(name=self.metric, above=self.limit if MEASURES[self.metric].kind == "quantile" else None)


class GuardrailFinding(Struct, frozen=True, kw_only=True):
    """A guardrail and one arm now: the figure, the interval that holds the true one, and the limit that it is judged by."""

    when: str
    arm: str
    then: Consequence
    window_began: float
    conversations: int
    minimum: int
    value: float | None
    limit: float
    low: float | None = None
    high: float | None = None
    is_breached: bool = False

    @property
    def has_enough(self) -> bool:
        """Returns whether there were enough conversations to judge."""
        return self.conversations >= self.minimum


def list_guardrails(config: RolloutConfig) -> tuple[Guardrail, ...]:
    """Returns the guardrails of a configuration.

    Raises:
        ConfigError: a condition names a figure that there is not.
    """
    found: list[Guardrail] = []
    for given in config.guardrails:
        metric, change, sign, limit = split_condition(given.when)
        check_measure(metric, change)
        found.append(
            Guardrail(
                when=given.when, metric=metric, change=change, sign=sign, limit=limit, window=parse_duration(given.window),
                minimum=given.minimum, then=given.then,
            )
        )  # fmt: skip
    return tuple(found)


async def check_guardrails(
    reader: OutcomeReader, config: RolloutConfig, guardrails: tuple[Guardrail, ...], state: RolloutState, now: float
) -> tuple[GuardrailFinding, ...]:
    """Judges every guardrail for every new arm: in the windows that are open now, and over the whole time since the last step.

    The whole time finds what is a little bad, or seldom used; a window finds what has become bad. The chance of a false alarm is
    divided among guardrails, arms, the steps of the rollout and the periods, so that all together stay below ``false_alarms``.
    """
    arms = [name for name in config.arms if name != config.baseline]
    alpha = config.false_alarms / max(1, len(guardrails) * len(arms)) / (state.steps * (state.steps + 1) or 1)
    found: list[GuardrailFinding] = []
    for rail in guardrails:
        judged: dict[str, list[GuardrailFinding]] = {arm: [] for arm in arms}
        for began, share in _list_periods(rail, state.changed, now):
            sums = await reader.read_sums(config.name, rail.measure, began, now + 1e-6)
            for arm in arms:
                judged[arm].append(_judge(rail, arm, sums, config.baseline, alpha * share, began))
        found += [_pick_finding(of_arm) for of_arm in judged.values()]
    return tuple(found)


def _list_periods(rail: Guardrail, changed: float, now: float) -> list[tuple[float, float]]:
    """Returns when the periods to judge began, and their shares of the chance of a false alarm: windows first, then the whole.

    A window begins each half window, so two are open; the shares of all that ever begin add up to one half.
    """
    half = rail.window / 2
    newest = max(0, int((now - changed) / half))
    windows = [(changed + number * half, 0.5 / ((number + 1) * (number + 2))) for number in (newest - 1, newest) if number >= 0]
    return windows if MEASURES[rail.metric].kind == "count" else [*windows, (changed, 0.5)]


def _pick_finding(judged: list[GuardrailFinding]) -> GuardrailFinding:
    """Returns the finding that is acted on or shown: one that is breached, else the first with enough conversations."""
    breached = [one for one in judged if one.is_breached]
    return (breached or [one for one in judged if one.has_enough] or judged[-1:])[0]


def _judge(rail: Guardrail, arm: str, sums: Mapping[str, Sums], baseline: str, alpha: float, began: float) -> GuardrailFinding:
    new, old = sums.get(arm, NOTHING), sums.get(baseline, NOTHING)
    kind = MEASURES[rail.metric].kind
    needs_old = rail.change is not None or kind == "reduction"
    if kind == "count":
        return GuardrailFinding(
            when=rail.when, arm=arm, then=rail.then, window_began=began, conversations=new.count, minimum=0, value=new.total,
            limit=rail.limit, is_breached=new.total > rail.limit if rail.sign == ">" else new.total < rail.limit,
        )  # fmt: skip
    value, limit, interval, excess = _bound(rail, kind, new, old, alpha)
    conversations = min(new.count, old.count) if needs_old else new.count
    is_breached = conversations >= rail.minimum and excess is not None and excess > 0
    return GuardrailFinding(
        when=rail.when, arm=arm, then=rail.then, window_began=began, conversations=conversations, minimum=rail.minimum,
        value=value if conversations else None, limit=limit, low=interval.low if interval else None,
        high=interval.high if interval else None, is_breached=is_breached,
    )  # fmt: skip


def _bound(rail: Guardrail, kind: str, new: Sums, old: Sums, alpha: float) -> tuple[float, float, Interval | None, float | None]:
    """Returns the figure, its limit, its interval, and by how much the limit is exceeded for certain (None: not known)."""
    limit = rail.limit
    if kind == "reduction":
        # The reduction is below the limit exactly if the new mean is above that part of the old one.
        surplus = bound_mean_difference(new, old, alpha, factor=1 - limit)
        value = 1 - new.mean / old.mean if old.mean else 0.0
        return value, limit, None, None if surplus is None else surplus.low if rail.sign == "<" else -surplus.high
    if kind == "quantile":
        limit = 1 - MEASURES[rail.metric].quantile
    if kind in ("share", "quantile") and rail.change is None:
        interval: Interval | None = bound_share(new, alpha)
    elif kind == "share":
        first, second = (new, old) if rail.change == "rise" else (old, new)
        interval = bound_share_difference(first, second, alpha)
    elif rail.change is None:
        interval = bound_mean(new, alpha)
    else:
        return _bound_relative(rail, new, old, alpha)
    if interval is None:
        return new.mean, limit, None, None
    return interval.value, limit, interval, interval.low - limit if rail.sign == ">" else limit - interval.high


def _bound_relative(rail: Guardrail, new: Sums, old: Sums, alpha: float) -> tuple[float, float, Interval | None, float | None]:
    """A drop or a rise of a mean is a share of the old mean."""
    sign = 1 if rail.change == "rise" else -1
    surplus = bound_mean_difference(new, old, alpha, factor=1 + sign * rail.limit)
    value = sign * (new.mean / old.mean - 1) if old.mean else 0.0
    excess = None if surplus is None else surplus.low if sign > 0 else -surplus.high
    return value, rail.limit, None, excess
