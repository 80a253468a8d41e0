"""Where a rollout stands, and the steps that it can take. Values and rules; ``rollout_store`` keeps them."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gristmill.config.sections.rollout_section import RolloutConfig, parse_duration
from gristmill.errors import Conflict
from gristmill.model import Json
from gristmill.rollout.assign_arm import compute_weight_percent

Standing = Literal["idle", "running", "held", "rolled_back"]
Step = Literal["start", "advance", "hold", "back", "rollback"]


class RolloutStage(Struct, frozen=True, kw_only=True):
    """One stage: the percent of new arms, and the seconds after which the next begins (None: only by hand)."""

    percent: float
    seconds: float | None = None


class RolloutState(Struct, frozen=True, kw_only=True):
    """Where a rollout stands. ``version`` grows with every step, so that of two steps at once only one happens."""

    name: str
    standing: Standing = "idle"
    stage: int = 0
    percent: float = 0.0
    version: int = 0
    steps: int = 0
    """Steps since the start: the first is 1."""
    started: float = 0.0
    changed: float = 0.0
    """When the present stage began, or what it does was last decided."""
    by: str = ""
    reason: str = ""


class RolloutStep(Struct, frozen=True, kw_only=True):
    """One step that was taken, with the numbers that led to it."""

    version: int
    at: float
    step: Step
    from_percent: float
    percent: float
    stage: int
    by: str
    reason: str
    numbers: Json = None


def list_stages(config: RolloutConfig) -> tuple[RolloutStage, ...]:
    """Returns the stages of a configuration; without any, one without end that the weights give."""
    if not config.stages:
        return (RolloutStage(percent=compute_weight_percent(config)),)
    return tuple(
        RolloutStage(percent=stage.percent, seconds=parse_duration(stage.for_) if stage.for_ else None) for stage in config.stages
    )


def take_step(
    state: RolloutState, step: Step, stages: tuple[RolloutStage, ...], *, now: float, by: str, reason: str
) -> RolloutState:
    """Returns the state after a step.

    Raises:
        Conflict: the step cannot be taken from here; the text says what can.
    """
    made = replace(state, version=state.version + 1, steps=state.steps + 1, changed=now, by=by, reason=reason)
    if step == "start":
        return _start(state, made, stages, now)
    if state.standing == "idle":
        raise Conflict(f"the rollout {state.name} has not begun: `gristmill rollout start` begins it")
    if state.standing == "rolled_back":
        raise Conflict(f"the rollout {state.name} is rolled back: `gristmill rollout start` begins it anew at its first stage")
    last = len(stages) - 1
    if step == "hold":
        return replace(made, standing="held")
    if step == "rollback" or (step == "back" and state.stage == 0):
        return replace(made, standing="rolled_back", stage=0, percent=0.0)
    if step == "back":
        stage = min(state.stage, last + 1) - 1  # the configuration may have fewer stages now
        return replace(made, standing="held", stage=stage, percent=stages[stage].percent)
    if state.stage >= last:
        raise Conflict(f"the rollout {state.name} is in its last stage, {state.percent:g} %: there is none to advance to")
    return replace(made, standing="running", stage=state.stage + 1, percent=stages[state.stage + 1].percent)


def _start(state: RolloutState, made: RolloutState, stages: tuple[RolloutStage, ...], now: float) -> RolloutState:
    if state.standing == "running":
        raise Conflict(f"the rollout {state.name} runs already: `gristmill rollout status` shows it")
    if state.standing == "held":  # it goes on where it was held
        return replace(made, standing="running")
    return replace(made, standing="running", stage=0, percent=stages[0].percent, started=now, steps=1)
