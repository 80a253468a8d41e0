"""Plays a rollout through at accelerated time, with outcomes that were recorded or made up: what would the guardrails have done?

The judgement is that of the service: the same guardrails, steps and intervals. Only time and the store are replaced.
"""

import bisect
import random
from collections.abc import Mapping, Sequence

from msgspec import Struct

from gristmill.config.sections.rollout_section import RolloutConfig
from gristmill.errors import NotFound
from gristmill.model import LOCAL_IDENTITY
from gristmill.rollout.arm_outcomes import ArmOutcome
from gristmill.rollout.assign_arm import draw_arm
from gristmill.rollout.check_guardrails import Guardrail, GuardrailFinding, check_guardrails, list_guardrails
from gristmill.rollout.measures import Measure
from gristmill.rollout.rollout_state import RolloutState, Step, list_stages, take_step
from gristmill.rollout.rollouts import OURSELVES, choose_step
from gristmill.rollout.sequential_bounds import Sums
from gristmill.rollout.value_of_outcome import read_value

LOOKS_PER_WINDOW = 60
"""How often the guardrails are looked at in the shortest window; the service looks every second."""


class SimulatedStep(Struct, frozen=True, kw_only=True):
    """One step in a simulation: when (seconds since its start), and how many conversations each arm had by then."""

    seconds: float
    step: Step
    percent: float
    reason: str
    conversations: Mapping[str, int]
    failed: Mapping[str, int]


class Simulation(Struct, frozen=True, kw_only=True):
    """What would have happened."""

    rollout: str
    outcomes: int
    seconds: float
    steps: tuple[SimulatedStep, ...]
    standing: str
    percent: float
    findings: tuple[GuardrailFinding, ...]


class ReplayedOutcomes:
    """Outcomes in memory, added in the order of time, each a conversation of its own. Prefix sums make looks quick."""

    def __init__(self) -> None:
        self._times: dict[str, list[float]] = {}
        self._outcomes: dict[str, list[ArmOutcome]] = {}
        self._sums: dict[tuple[str, Measure], list[tuple[int, float, float]]] = {}

    def add(self, arm: str, made: ArmOutcome, at: float) -> None:
        """Adds an outcome that ended at ``at``."""
        self._times.setdefault(arm, []).append(at)
        self._outcomes.setdefault(arm, []).append(made)

    async def read_sums(self, rollout: str, measure: Measure, since: float, until: float) -> Mapping[str, Sums]:  # noqa: ARG002
        """Returns the sums of a measure over the outcomes of each arm between two times."""
        found: dict[str, Sums] = {}
        for arm, times in self._times.items():
            first, last = bisect.bisect_left(times, since), bisect.bisect_left(times, until)
            prefix = self._extend_prefix(arm, measure)
            (n1, t1, q1), (n2, t2, q2) = prefix[first], prefix[last]
            if n2 > n1:
                found[arm] = Sums(count=n2 - n1, total=t2 - t1, squares=q2 - q1)
        return found

    def _extend_prefix(self, arm: str, measure: Measure) -> list[tuple[int, float, float]]:
        prefix = self._sums.setdefault((arm, measure), [(0, 0.0, 0.0)])
        for made in self._outcomes[arm][len(prefix) - 1 :]:
            count, total, squares = prefix[-1]
            value = read_value(made, measure)
            prefix.append((count, total, squares) if value is None else (count + 1, total + value, squares + value * value))
        return prefix


async def simulate_rollout(config: RolloutConfig, recorded: Sequence[ArmOutcome]) -> Simulation:
    """Plays the rollout through with recorded conversations. One counts if its user would have had the same arm, else it is left
    out: nothing is invented and nothing counts twice (Li, Chu, Langford and Wang, "Unbiased offline evaluation", WSDM 2011).

    Raises:
        NotFound: an arm has no outcome.
        ConfigError: a guardrail cannot be used.
    """
    ordered = sorted(recorded, key=lambda made: made.at)
    if lacking := sorted(set(config.arms) - {made.arm for made in ordered}):
        raise NotFound(f"there is no outcome of the arm {lacking[0]} to replay: record some first, or make them up with --error")
    rails, start = list_guardrails(config), ordered[0].at
    pause = max(1.0, min((rail.window for rail in rails), default=3_600.0) / LOOKS_PER_WINDOW)
    play, next_look = _Play(config, rails, start), start + pause
    for made in ordered:
        while next_look <= made.at:
            await play.look(next_look)
            next_look += pause
        if draw_arm(config, made.unit, play.state.percent) == made.arm:
            play.add(made)
    await play.look(ordered[-1].at + 1e-3)
    return Simulation(
        rollout=config.name, outcomes=sum(play.counts.values()), seconds=ordered[-1].at - start, steps=tuple(play.steps),
        standing=play.state.standing, percent=play.state.percent, findings=play.findings,
    )  # fmt: skip


class _Play:
    """A rollout under way in a simulation."""

    def __init__(self, config: RolloutConfig, rails: tuple[Guardrail, ...], start: float) -> None:
        self._config, self._rails, self._start, self._stages = config, rails, start, list_stages(config)
        self._replayed = ReplayedOutcomes()
        idle = RolloutState(name=config.name)
        self.state = take_step(idle, "start", self._stages, now=start, by=OURSELVES, reason="the simulation starts")
        self.counts, self.failed = dict.fromkeys(config.arms, 0), dict.fromkeys(config.arms, 0)
        self.steps: list[SimulatedStep] = []
        self.findings: tuple[GuardrailFinding, ...] = ()

    def add(self, made: ArmOutcome) -> None:
        """Counts a conversation."""
        self._replayed.add(made.arm, made, made.at)
        self.counts[made.arm] += 1
        self.failed[made.arm] += made.failed

    async def look(self, now: float) -> None:
        """Looks at the guardrails, and takes the step that they ask for."""
        if self.state.standing not in ("running", "held"):
            return
        self.findings = await check_guardrails(self._replayed, self._config, self._rails, self.state, now)
        wanted = choose_step(self.state, self._stages, self.findings, now)
        if wanted is None:
            return
        self.state = take_step(self.state, wanted[0], self._stages, now=now, by=OURSELVES, reason=wanted[1])
        self.steps.append(
            SimulatedStep(
                seconds=now - self._start, step=wanted[0], percent=self.state.percent, reason=wanted[1],
                conversations=dict(self.counts), failed=dict(self.failed),
            )
        )  # fmt: skip


def make_up_outcomes(
    config: RolloutConfig, errors: Mapping[str, float], *, conversations: int, seconds: float, seed: int = 0
) -> tuple[ArmOutcome, ...]:
    """Makes up conversations that fail in an arm with the given chance (0 where none is given), spread evenly over a time.

    So many are made for each arm: whatever the share of an arm is then, ``conversations`` of all of them count.
    """
    drawn = random.Random(seed)  # noqa: S311 - a simulation is repeatable
    made: list[ArmOutcome] = []
    for arm in config.arms:
        for number in range(conversations):
            is_failed = drawn.random() < errors.get(arm, 0.0)
            id_ = f"{arm}-{seed}-{number}"
            made.append(
                ArmOutcome(
                    id=id_, rollout=config.name, arm=arm, unit=id_, conversation=id_, identity=LOCAL_IDENTITY,
                    at=seconds * drawn.random(), failed=is_failed, status="failed" if is_failed else "ok",
                    seconds=drawn.lognormvariate(0.5, 0.6), tokens_in=round(drawn.lognormvariate(8, 0.5)), tokens_out=300,
                    accuracy=float(drawn.random() < 0.9),
                )
            )  # fmt: skip
    return tuple(made)
