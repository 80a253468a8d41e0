"""Gives executions the arm of their caller, over every door of a process, and stores what came of each."""

import time
import uuid
from collections import OrderedDict

from msgspec import Struct
from msgspec.structs import replace

from gristmill.model import Identity
from gristmill.rollout.arm_outcomes import ArmOutcome
from gristmill.rollout.assign_arm import ArmChoice, Asker
from gristmill.rollout.rollouts import Rollouts
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.run_arms import RunArms, TurnArm, TurnFigures
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.values.token_values import SpentCall, SpentExecution

MOST_REMEMBERED = 10_000
"""Executions whose arm or tokens are remembered until both are known."""
OF_TURNS = ("chat", "langchain")
"""The ways of arrival of programs that a model wrote in a turn, of our chat or of an agent."""
HARMLESS = ("ok", "awaiting_approval")


class CountedTokens(Struct, frozen=True, kw_only=True):
    """What an execution cost in tokens, and what direct calls would have cost."""

    tokens_in: int
    tokens_out: int
    direct: int


class ExecutionArms(RunArms):
    """The arms of the executions of one process."""

    def __init__(self, rollouts: Rollouts, runtime: Runtime) -> None:
        self._rollouts = rollouts
        self._price = runtime.config.records.token_price / 1_000_000
        self._metrics = runtime.metrics
        self._choices: OrderedDict[str, ArmChoice] = OrderedDict()
        self._counted: OrderedDict[str, CountedTokens] = OrderedDict()
        if rollouts.config.name:
            runtime.listen_to_token_counts(self._take_count)

    async def choose_arm(self, run: ActiveRun) -> str | None:
        """Returns the arm of the caller of a run; None where no rollout is configured."""
        if not self._rollouts.config.name:
            return None
        self._rollouts.keep_watch()
        choice = await self._rollouts.choose_arm(Asker(identity=run.identity, session=run.session))
        if choice is None:
            return None
        self._choices[run.id] = choice
        if len(self._choices) > MOST_REMEMBERED:
            self._choices.popitem(last=False)
        return choice.arm

    def note_end(self, run: ActiveRun) -> None:
        """Stores what came of a run; one that was cancelled, or answered from an earlier one, says nothing about its arm."""
        choice = self._choices.pop(run.id, None)
        # A program of a chat is a part of its turn, which is an outcome of its own.
        is_part = run.via in OF_TURNS
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
            if found is None or found[0] not in self._rollouts.config.arms:
                return None  # it began without the rollout
            return TurnArm(arm=found[0], unit=found[1], compared=found[2], model=self._rollouts.config.arms[found[0]].model)
        choice = await self._rollouts.choose_arm(Asker(identity=identity, session=uuid.uuid4().hex))
        if choice is None or choice.reason == "off":
            return None if choice is None else TurnArm(arm="", mode=choice.mode, model=choice.model)
        return TurnArm(
            arm=choice.arm, mode=choice.mode, model=choice.model, unit=choice.unit, compared=choice.is_compared
        )  # fmt: skip

    def note_turn(self, arm: TurnArm, identity: Identity, made: TurnFigures) -> None:
        """Stores what came of a turn; before the start and after a rollback nothing is compared."""
        if not arm.arm:
            return
        self._rollouts.record_outcome(
            ArmOutcome(
                id=f"{made.conversation}/{made.turn}", rollout=self._rollouts.config.name, arm=arm.arm, unit=arm.unit,
                conversation=made.conversation, identity=identity, at=time.time(), compared=arm.compared, status=made.status,
                failed=made.failed, seconds=made.seconds, first_seconds=made.first_seconds, tokens_in=made.tokens_in,
                tokens_out=made.tokens_out, tokens_cached=made.tokens_cached, measured=True, dollars=made.dollars,
                used_code=made.programs > 0, fallbacks=int(made.fallback),
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
