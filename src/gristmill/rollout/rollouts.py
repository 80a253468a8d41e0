"""The rollout of one process: who gets which arm, what came of it, and the steps of people and of guardrails."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, to_builtins

from gristmill.config.sections.rollout_section import RolloutConfig
from gristmill.errors import Conflict, Error, NotFound, StoreUnavailable
from gristmill.model import Json
from gristmill.rollout.arm_outcomes import ArmOutcome, ArmOutcomes, build_forget_outcomes
from gristmill.rollout.assign_arm import ArmChoice, Asker, Reason, draw_arm, find_override, name_unit
from gristmill.rollout.check_guardrails import Guardrail, GuardrailFinding, check_guardrails, list_guardrails
from gristmill.rollout.rollout_state import RolloutStage, RolloutState, Step, list_stages
from gristmill.rollout.rollout_store import RolloutStore
from gristmill.store.base import Store

log = logging.getLogger(__name__)

KNOWN_SECONDS = 0.5
"""How long a state is used without asking the store again: a rollback reaches every process within a second."""
LOOK_SECONDS = 1.0
LOOK_SHARE = 20
"""A look at the guardrails is followed by a pause of at least this many times its duration."""
FORGET_SECONDS = 3_600.0
OURSELVES = "gristmill"
"""Who took a step that no person took."""
_STRENGTH = {"hold": 0, "back": 1, "rollback": 2}

Tell = Callable[[RolloutState, RolloutState, Step, Json], None]
"""Is told of every step that this process takes: the states before and after it, the step and its numbers."""


class FlagSource(Protocol):
    """A flag system that says which arm an asker has."""

    async def find_arm(self, flag: str, asker: Asker, unit: str) -> str | None:
        """Returns the name of the arm; None if the flag system says nothing about it."""
        ...


class RolloutWatch(Protocol):
    """Is told what a look at a rollout saw, for metrics."""

    def note_look(self, state: RolloutState, findings: tuple[GuardrailFinding, ...]) -> None:
        """Notes where the rollout stands and what its guardrails show."""
        ...


class RolloutStatus(Struct, frozen=True, kw_only=True):
    """Where a rollout stands, its stages, and what its guardrails show now."""

    state: RolloutState
    is_enabled: bool
    stages: tuple[RolloutStage, ...]
    next_at: float | None
    """When the next stage begins by itself, if the guardrails allow it."""
    findings: tuple[GuardrailFinding, ...]


def ignore_step(_before: RolloutState, _after: RolloutState, _step: Step, _numbers: Json) -> None:
    """Does nothing when a step was taken."""


class Rollouts:
    """The rollout of a configuration, in one store that all processes share."""

    def __init__(
        self, config: RolloutConfig, store: Store, *, tell: Tell = ignore_step, flags: FlagSource | None = None,
        clock: Callable[[], float] = time.time, ticks: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.config, self._tell, self._flags, self._clock, self._ticks = config, tell, flags, clock, ticks
        self._store = store
        self.steps, self.outcomes = RolloutStore(store, clock), ArmOutcomes(store, clock)
        self.stages: tuple[RolloutStage, ...] = list_stages(config) if config.name else ()
        self.guardrails: tuple[Guardrail, ...] = list_guardrails(config)
        self._known: tuple[float, RolloutState] | None = None
        self.watching: asyncio.Task[None] | None = None
        self._watch: RolloutWatch | None = None
        self.is_served = False
        """Whether somebody ends the watch, so that it may begin as soon as a rollout is configured."""

    def take_config(self, config: RolloutConfig, flags: FlagSource | None) -> None:
        """Takes another configuration into use: from the next conversation and the next look on.

        Raises:
            ConfigError: a guardrail cannot be used; nothing has changed.
        """
        guardrails = list_guardrails(config)
        self.config, self.guardrails, self._flags, self._known = config, guardrails, flags, None
        self.stages = list_stages(config) if config.name else ()

    async def read_state(self) -> RolloutState:
        """Returns where the rollout stands now.

        Raises:
            NotFound: no rollout is configured.
        """
        if not self.config.name:
            raise NotFound(
                "no rollout is configured: give it a `name` and arms under [rollout]; docs/guides/rollout.md shows how"
            )
        state = await self.steps.read_state(self.config.name)
        self._known = (self._ticks() + KNOWN_SECONDS, state)
        return state

    async def choose_arm(self, asker: Asker) -> ArmChoice | None:
        """Returns the arm of an asker; None where no rollout is configured.

        If the store cannot be read, everybody has the old arm: what is new must not go on when nobody can stop it.
        """
        if not self.config.name:
            return None
        unit = name_unit(self.config, asker)
        try:
            state = await self._find_state()
        except StoreUnavailable:
            return self._build_choice(self.config.baseline, "off", unit, RolloutState(name=self.config.name))
        if not self.config.enabled or state.standing not in ("running", "held"):
            return self._build_choice(self.config.baseline, "off", unit, state)
        if (given := find_override(self.config, asker)) is not None:
            return self._build_choice(given, "override", unit, state)
        if self.config.flag is not None and self._flags is not None:
            flagged = await self._flags.find_arm(self.config.flag, asker, unit)
            if flagged in self.config.arms:
                return self._build_choice(flagged, "flag", unit, state)
        return self._build_choice(draw_arm(self.config, unit, state.percent), "assigned", unit, state)

    def record_outcome(self, made: ArmOutcome) -> None:
        """Stores what came of a turn or an execution, without waiting."""
        self.outcomes.store_outcome(made)

    async def take_step(
        self, step: Step, *, by: str, reason: str = "", numbers: Json = None, version: int | None = None
    ) -> RolloutState:
        """Takes a step for all processes of the store; it holds for every conversation that begins a second later.

        Raises:
            Conflict: the step cannot be taken from here, or another one came first.
            NotFound: no rollout is configured.
            StoreUnavailable: nothing was changed.
        """
        name = (await self.read_state()).name
        before, after = await self.steps.change(
            name, step, self.stages, by=by, reason=reason, numbers=numbers, version=version
        )  # fmt: skip
        self._known = None
        self._tell(before, after, step, numbers)
        return after

    async def describe(self) -> RolloutStatus:
        """Returns where the rollout stands, with what its guardrails show now.

        Raises:
            NotFound: no rollout is configured.
        """
        state = await self.read_state()
        seconds = self.stages[state.stage].seconds if state.stage < len(self.stages) - 1 else None
        is_timed = state.standing == "running" and seconds is not None
        return RolloutStatus(
            state=state, is_enabled=self.config.enabled, stages=self.stages, findings=await self._check(state),
            next_at=state.changed + (seconds or 0.0) if is_timed else None,
        )  # fmt: skip

    async def look(self, watch: RolloutWatch | None = None) -> RolloutState:
        """Looks at the guardrails once, and takes the step that they or the end of the stage ask for.

        Of several processes that look at once, one takes the step.
        """
        state = await self.read_state()
        findings = await self._check(state)
        if watch is not None:
            watch.note_look(state, findings)
        step = choose_step(state, self.stages, findings, self._clock())
        if step is None:
            return state
        name, reason, numbers = step
        try:
            return await self.take_step(name, by=OURSELVES, reason=reason, numbers=numbers, version=state.version)
        except Conflict:
            return await self.read_state()  # another process was first

    def keep_watch(self, watch: RolloutWatch | None = None) -> None:
        """Starts to look every second, if nothing in this process does already, until ``stop_watch``.

        ``watch`` is told what is seen, also if looking begins later, with another configuration.
        """
        self._watch = watch or self._watch
        if self.config.name and (self.watching is None or self.watching.done()):
            self.watching = asyncio.create_task(self.watch_forever(self._watch))

    async def stop_watch(self) -> None:
        """Ends the looking, before the store is closed."""
        if self.watching is not None:
            self.watching.cancel()
            await asyncio.gather(self.watching, return_exceptions=True)
            self.watching = None

    async def watch_forever(self, watch: RolloutWatch | None = None) -> None:
        """Looks every second, as long as a rollout is configured; less often where a look takes long."""
        forgot = -FORGET_SECONDS
        while self.config.name:
            began = self._ticks()
            try:
                await self.look(watch)
                if began - forgot >= FORGET_SECONDS:
                    forgot = began
                    await self._store.write(*build_forget_outcomes(self._clock() - self.config.outcomes_days * 86_400))
            except Error as error:
                log.warning("the guardrails of the rollout could not be judged: %s", error)
            await asyncio.sleep(max(LOOK_SECONDS, LOOK_SHARE * (self._ticks() - began)))

    async def _check(self, state: RolloutState) -> tuple[GuardrailFinding, ...]:
        if state.standing not in ("running", "held") or not self.guardrails:
            return ()
        return await check_guardrails(self.outcomes, self.config, self.guardrails, state, self._clock())

    async def _find_state(self) -> RolloutState:
        if self._known is not None and self._ticks() < self._known[0]:
            return self._known[1]
        return await self.read_state()

    def _build_choice(self, name: str, reason: Reason, unit: str, state: RolloutState) -> ArmChoice:
        arm = self.config.arms[name]
        return ArmChoice(
            rollout=self.config.name, arm=name, reason=reason, unit=unit, mode=arm.mode, model=arm.model, prompt=arm.prompt,
            stage=state.stage, version=state.version,
        )  # fmt: skip


def choose_step(
    state: RolloutState, stages: tuple[RolloutStage, ...], findings: tuple[GuardrailFinding, ...], now: float
) -> tuple[Step, str, Json] | None:
    """Returns the step that guardrails or the end of the stage ask for, with its reason and its numbers; None for no step."""
    if state.standing not in ("running", "held"):
        return None
    breached = [one for one in findings if one.is_breached and not (one.then == "hold" and state.standing == "held")]
    if breached:
        worst = max(breached, key=lambda one: _STRENGTH[one.then])
        return worst.then, f"{worst.when} in the arm {worst.arm}", to_builtins(worst)
    if state.standing == "held" or any(one.is_breached for one in findings) or state.stage >= len(stages) - 1:
        return None
    seconds = stages[state.stage].seconds
    if seconds is None or now - state.changed < seconds or not all(one.has_enough for one in findings):
        return None
    numbers = [to_builtins(one) for one in findings]
    return "advance", f"the stage lasted {seconds:g} s, and no guardrail was reached", numbers
