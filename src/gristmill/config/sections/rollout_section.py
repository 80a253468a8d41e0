"""The `rollout` section of the configuration: which ways of working are compared, and how traffic moves to the new one."""

import re
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gristmill.config.sections.base import Section

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)")
_UNIT_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}
_CONDITION = re.compile(r"([a-z][a-z0-9_]*)(?:\s+(drop|rise))?\s*(>|<)\s*(\d+(?:\.\d+)?)\s*(%|ms|s)?")
ARM_NAME = r"^[a-z][a-z0-9_-]{0,39}$"
"""The names of arms and of rollouts: short, because they are labels of metrics."""


def parse_duration(text: str) -> float:
    """Returns the seconds of a duration such as `30m` or `2d`.

    Raises:
        ValueError: the text is not a duration.
    """
    found = _DURATION.fullmatch(text.strip())
    if found is None or not float(found[1]):
        raise ValueError(f"{text!r} is not a duration: write a number and a unit, such as 30m, 12h or 2d")
    return float(found[1]) * _UNIT_SECONDS[found[2]]


def split_condition(text: str) -> tuple[str, str | None, str, float]:
    """Splits a condition such as `p99 > 10 s` into the metric, `drop` or `rise`, the sign and the limit (a share, or seconds).

    Raises:
        ValueError: the text is not a condition.
    """
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a condition: write one such as `error_rate > 1 %` or `accuracy drop > 5 %`")
    metric, change, sign, number, unit = found.groups()
    if change and sign == "<":
        raise ValueError(
            f"{text!r} means that a {change} is wanted: a guardrail says what must not happen, so write `{change} >`"
        )
    return metric, change, sign, float(number) * {"%": 0.01, "ms": 0.001}.get(unit, 1.0)


def _check_duration(text: str) -> str:
    if text:
        parse_duration(text)
    return text


def _check_condition(text: str) -> str:
    split_condition(text)
    return text


Duration = Annotated[str, AfterValidator(_check_duration)]


class ArmConfig(Section):
    """One way of working that is compared."""

    mode: Literal["direct", "code", "hybrid", "auto"]
    """How the model works in this arm: direct calls, programs, both, or what the accounts say is cheaper."""
    model: str | None = Field(default=None, max_length=200)
    """Another model for this arm; empty keeps that of the chat."""
    prompt: str | None = Field(default=None, max_length=20_000)
    """A system prompt for this arm; empty keeps that of the chat."""
    weight: float = Field(default=1.0, gt=0, le=1_000_000)
    """Share of the traffic among the new arms; without `stages` among all arms."""


class StageConfig(Section):
    """One stage: which share of the traffic the new arms get, and for how long."""

    percent: float = Field(gt=0, le=100)
    """Percent of users (or tenants, or sessions) that get a new arm."""
    for_: Duration = Field(default="", alias="for")
    """How long the stage lasts at least, such as `2d`; then the next begins by itself. Empty waits for `gristmill rollout
    advance`."""


class GuardrailConfig(Section):
    """A condition that must not come true for a new arm."""

    when: Annotated[str, AfterValidator(_check_condition)] = Field(max_length=100)
    """The condition: `error_rate > 1 %`, `p99 > 10 s`, `accuracy drop > 5 %`, `complaints > 10`, `token_reduction < 95 %`."""
    window: Duration = "1h"
    """How far back outcomes count, so that an arm that has become bad is seen. Beside it the whole time since the last step is
    judged."""
    minimum: int = Field(default=100, ge=1, le=1_000_000)
    """Conversations that an arm must have before the condition is judged; `complaints` needs none."""
    then: Literal["hold", "back", "rollback"] = "rollback"
    """`hold` stops the growth, `back` goes back one stage and holds, `rollback` gives everybody the old arm at once."""


class GroupConfig(Section):
    """Users that always get one arm, such as beta testers."""

    arm: str
    """The arm of these users."""
    users: tuple[str, ...] = Field(default=(), max_length=10_000)
    """The users, by the name of their caller."""


class RolloutConfig(Section):
    """A comparison of ways of working, and a gradual change from one to another. Off until it has a name and arms."""

    enabled: bool = True
    """The kill switch: `false` gives everybody the old arm, whatever the stage."""
    name: str = Field(default="", pattern=ARM_NAME + "|^$")
    """The name of the rollout, under which its stage and its outcomes are kept; empty means that there is none."""
    by: Literal["user", "tenant", "session"] = "user"
    """Who stays in one arm."""
    salt: str = Field(default="", max_length=200)
    """Changes who gets which arm. Rollouts with different names are independent without it."""
    baseline: str = "direct"
    """The old arm: everybody has it before the start and after a rollback."""
    arms: dict[str, ArmConfig] = Field(default_factory=dict[str, ArmConfig], max_length=10)
    """The arms by name, as `[rollout.arms.NAME]`; the baseline is one of them."""
    stages: tuple[StageConfig, ...] = Field(default=(), max_length=50)
    """The stages in order, with growing percents. Empty means one stage without end, with the shares of the weights."""
    guardrails: tuple[GuardrailConfig, ...] = Field(default=(), max_length=20)
    """Conditions under which growth stops or everybody gets the old arm again."""
    users: dict[str, str] = Field(default_factory=dict[str, str], max_length=10_000)
    """Arms of single users, by the name of their caller; they are left out of comparisons."""
    tenants: dict[str, str] = Field(default_factory=dict[str, str], max_length=10_000)
    """Arms of whole tenants; they are left out of comparisons."""
    groups: dict[str, GroupConfig] = Field(default_factory=dict[str, GroupConfig], max_length=100)
    """Arms of groups of users, as `[rollout.groups.NAME]`; they are left out of comparisons."""
    flag: str | None = Field(default=None, max_length=200)
    """A flag of your own flag system that says the arm, asked with OpenFeature (`gristmill[openfeature]`); empty decides here."""
    false_alarms: float = Field(default=0.005, gt=0, lt=0.5)
    """The chance that any guardrail ever acts on an arm that is in fact within its limits."""
    confidence: float = Field(default=0.95, ge=0.5, le=0.9999)
    """The certainty of the intervals in reports, valid however often one looks."""
    outcomes_days: float = Field(default=90.0, gt=0, le=36_500)
    """Days that outcomes of arms are kept."""

    @model_validator(mode="after")
    def _check_arms(self) -> Self:
        if not self.name:
            return self
        if self.baseline not in self.arms or len(self.arms) < 2:
            raise ValueError(f"a rollout needs the baseline {self.baseline!r} and at least one other arm under [rollout.arms]")
        for name in self.arms:
            if not re.fullmatch(ARM_NAME, name):
                raise ValueError(f"the arm {name!r} needs a name of lower-case letters, digits, - and _, at most 40")
        named = [*self.users.values(), *self.tenants.values(), *(group.arm for group in self.groups.values())]
        if unknown := sorted(set(named) - set(self.arms)):
            raise ValueError(f"there is no arm {unknown[0]!r}; the arms are {', '.join(self.arms)}")
        percents = [stage.percent for stage in self.stages]
        if any(later <= earlier for earlier, later in pairwise(percents)):
            raise ValueError("the percents of the stages must grow")
        return self
