"""Gives executions the arm of their caller, over every door of a process, and stores what came of each."""

import time
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gristmill.model import Identity
from gristmill.rollout.arm_outcomes import ArmOutcome
from gristmill.rollout.assign_arm import ArmChoice, Asker
from gristmill.rollout.open_rollouts import serve_rollouts
from gristmill.rollout.rollouts import Rollouts
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.run_arms import RunArms, TurnArm, TurnFigures
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.token_values import SpentCall, SpentExecution

MOST_REMEMBERED = 10_000
"""Executions whose arm or tokens are remembered until both are known."""
PARTS = ("chat", "langchain")
"""The ways of arrival of programs that are a part of a turn, which is an outcome of its own."""
HARMLESS = ("ok", "awaiting_approval")


class CountedTokens(Struct, frozen=True, kw_only=True):
    """What an execution cost in tokens, and what direct calls would have cost."""

    tokens_in: int
    tokens_out: int
    direct: int


class ExecutionArms(RunArms):
    """The arms of the executions and the turns of one process."""

    @property
    def is_on(self) -> bool:  # type: ignore[override]
        """Whether a rollout is configured."""
        return bool(self._rollouts.config.name)

    def __init__(self, rollouts: Rollouts, runtime: Runtime) -> None:
        self._rollouts = rollouts
        self._price = runtime.config.records.token_price / 1_000_000
        self._metrics = runtime.metrics
        self._choices: OrderedDict[str, ArmChoice] = OrderedDict()
        self._counted: OrderedDict[str, CountedTokens] = OrderedDict()
        self._runtime, self._listens = runtime, False

    async def choose_arm(self, run: ActiveRun) -> str | None:
        """Returns the arm of the caller of a run; None where no rollout is configured."""
        if not self._rollouts.config.name:
            return None
        self._rollouts.keep_watch()
        choice = await self._rollouts.choose_arm(Asker(identity=run.identity, session=run.session))
        if choice is None:
            return None
        if not self._listens:  # a rollout may be configured later
            self._listens = True
            self._runtime.listen_to_token_counts(self._take_count)
        self._choices[run.id] = choice
        if len(self._choices) > MOST_REMEMBERED:
            self._choices.popitem(last=False)
        return choice.arm

    def note_end(self, run: ActiveRun) -> None:
        """Stores what came of a run; one that was cancelled, or answered from an earlier one, says nothing about its arm."""
        choice = self._choices.pop(run.id, None)
        is_part = run.via in PARTS
        if choice is None or run.is_replayed or run.is_cancelled or choice.reason == "off" or is_part:
            self._counted.pop(run.id, None)
            return
        made = _build_outcome(run, choice)
        if (counted := self._counted.pop(run.id, None)) is not None:
            made = _add_tokens(made, counted, self._price)
        self._rollouts.record_outcome(made)
        self._metrics.count_arm_outcome(made.arm, failed=made.failed, seconds=made.seconds)

    async def choose_turn(self, identity: Identity, conversation: str | None) -> TurnArm | None:
        """Returns the arm of a turn: of a new conversation by its user, of another one as it was at its first turn."""
        name = self._rollouts.config.name
        if not name:
            return None
        self._rollouts.keep_watch()
        if conversation is not None:
            found = await self._rollouts.outcomes.find_conversation(name, identity, conversation)
            if found is None:
                return None  # it began without the rollout, or no turn of it has ended
            return self.restore_turn({"rollout": name, "arm": found[0], "unit": found[1], "compared": found[2]})
        choice = await self._rollouts.choose_arm(Asker(identity=identity, session=uuid.uuid4().hex))
        if choice is None:
            return None
        return TurnArm(
            rollout=name, arm=choice.arm, off=choice.reason == "off", mode=choice.mode, model=choice.model, prompt=choice.prompt,
            unit=choice.unit, compared=choice.is_compared,
        )  # fmt: skip

    def restore_turn(self, kept: Mapping[str, Any]) -> TurnArm | None:
        """Returns the arm that a conversation has kept, with the model and the prompt that it has now."""
        config, name = self._rollouts.config, str(kept.get("arm", ""))
        if not config.name or kept.get("rollout") != config.name or name not in config.arms:
            return None
        return TurnArm(
            rollout=config.name, arm=name, off=bool(kept.get("off")), model=config.arms[name].model,
            prompt=config.arms[name].prompt, unit=str(kept.get("unit", "")), compared=bool(kept.get("compared")),
        )  # fmt: skip

    def note_turn(self, arm: TurnArm, identity: Identity, made: TurnFigures) -> None:
        """Stores what came of a turn; before the start and after a rollback nothing is compared."""
        if arm.off or arm.rollout != self._rollouts.config.name:
            return
        self._rollouts.record_outcome(
            ArmOutcome(
                id=f"{made.conversation}/{made.turn}", rollout=self._rollouts.config.name, arm=arm.arm, unit=arm.unit,
                conversation=made.conversation, identity=identity, at=time.time(), compared=arm.compared, status=made.status,
                failed=made.failed, seconds=made.seconds, first_seconds=made.first_seconds, tokens_in=made.tokens_in,
                tokens_out=made.tokens_out, tokens_cached=made.tokens_cached, measured=True, dollars=made.dollars,
                used_code=made.programs > 0, approvals=made.approvals, fallbacks=int(made.fallback),
            )
        )  # fmt: skip
        self._metrics.count_arm_outcome(arm.arm, failed=made.failed, seconds=made.seconds)

    def _take_count(self, tenant: str, execution: SpentExecution, calls: tuple[SpentCall, ...], saved: int) -> None:  # noqa: ARG002
        """Takes the tokens of an execution: counted before it ended, or later, in a thread."""
        if not execution.arm:
            return
        tokens_in, tokens_out = execution.returned_tokens + execution.surface_tokens, execution.code_tokens
        counted = CountedTokens(tokens_in=tokens_in, tokens_out=tokens_out, direct=max(0, tokens_in + tokens_out + saved))
        if execution.execution not in self._choices:  # it has ended
            self._rollouts.outcomes.add_tokens(
                execution.execution, tokens_in, tokens_out, counted.direct, (tokens_in + tokens_out) * self._price
            )
            return
        self._counted[execution.execution] = counted
        if len(self._counted) > MOST_REMEMBERED:
            self._counted.popitem(last=False)


@asynccontextmanager
async def open_arms(runtime: Runtime) -> AsyncGenerator[ExecutionArms]:
    """Opens the arms of the configured rollout for chats of this program: ``Chat(runtime, arms=arms)``.

    The guardrails are looked at every second while the block runs.

    Raises:
        ConfigError: a guardrail cannot be used, or `gristmill[openfeature]` is missing.
    """
    async with serve_rollouts(runtime) as rollouts:
        yield ExecutionArms(rollouts, runtime)


def _build_outcome(run: ActiveRun, choice: ArmChoice) -> ArmOutcome:
    outcome, conversation = run.outcome, run.conversation or run.session or run.id
    status = outcome.status if outcome is not None else run.problem.code if run.problem is not None else "error"
    return ArmOutcome(
        id=run.id, rollout=choice.rollout, arm=choice.arm, unit=choice.unit, conversation=conversation,
        identity=run.identity, at=run.ended or run.began, compared=choice.is_compared, status=status,
        failed=status not in HARMLESS, seconds=outcome.execution_time_ms / 1000 if outcome is not None else 0.0, used_code=True,
        approvals=int(outcome is not None and outcome.plan is not None),
        repairs=int(outcome is not None and bool(outcome.repaired)),
    )  # fmt: skip


def _add_tokens(made: ArmOutcome, counted: CountedTokens, price: float) -> ArmOutcome:
    dollars = (counted.tokens_in + counted.tokens_out) * price
    return replace(
        made, tokens_in=counted.tokens_in, tokens_out=counted.tokens_out, direct_tokens=counted.direct, dollars=dollars
    )
