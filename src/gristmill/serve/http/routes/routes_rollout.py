"""Routes of ``/rollout`` and ``/feedback``: the arm of a caller, what came of it, and the steps of the rollout."""

import time
from typing import Annotated

from fastapi import APIRouter, Query, Response
from msgspec import to_builtins

from gristmill.errors import NotFound
from gristmill.rollout.arm_outcomes import ArmOutcome, Feedback, name_reported_outcome
from gristmill.rollout.assign_arm import ArmChoice, Asker
from gristmill.rollout.compare_arms import report_arms
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import EXECUTE, OPERATOR
from gristmill.serve.http.shapes.rollout_shapes import (
    ArmReportView,
    ArmView,
    FeedbackAsked,
    OutcomeAsked,
    RolloutView,
    StepAsked,
)

SHOWN_STEPS = 100
Word = Annotated[str | None, Query(min_length=1, max_length=200)]


def add_arms(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes for programs that ask for arms and say what came of them."""

    async def choose(who: Principal, user: str | None, session: str | None) -> ArmChoice:
        choice = await door.rollouts.choose_arm(Asker(identity=who.identity, session=session, user=user))
        if choice is None:
            raise NotFound("no rollout is configured: see docs/guides/rollout.md")
        return choice

    @routes.get("/rollout/arm", tags=["rollout"])
    async def arm(who: Annotated[Principal, EXECUTE], user: Word = None, session: Word = None) -> ArmView:
        """Returns your arm, or that of one of your users, for a program that leads conversations of its own."""
        choice = await choose(who, user, session)
        return ArmView(
            rollout=choice.rollout, arm=choice.arm, mode=choice.mode, model=choice.model, prompt=choice.prompt,
            reason=choice.reason, version=choice.version,
        )  # fmt: skip

    @routes.post("/rollout/outcomes", status_code=204, tags=["rollout"])
    async def outcome(asked: OutcomeAsked, who: Annotated[Principal, EXECUTE]) -> Response:
        """Records what came of a turn in the arm that its user has."""
        choice = await choose(who, asked.user, asked.session)
        if choice.reason != "off":
            fields = asked.model_dump(exclude={"id", "user", "session"})
            failed, id_ = asked.status != "ok", name_reported_outcome(who.identity, asked.id)
            made = ArmOutcome(
                id=id_, rollout=choice.rollout, arm=choice.arm, unit=choice.unit, compared=choice.is_compared,
                identity=who.identity, at=time.time(), failed=failed, measured=True, **fields,
            )  # fmt: skip
            door.rollouts.record_outcome(made)
            door.runtime.metrics.count_turn(f"{who.identity.caller}/{asked.conversation}", used_code=asked.used_code)
            door.runtime.metrics.count_arm_outcome(choice.arm, failed=failed, seconds=asked.seconds)
        return Response(status_code=204)

    @routes.post("/feedback", status_code=204, tags=["rollout"])
    async def feedback(asked: FeedbackAsked, who: Annotated[Principal, EXECUTE]) -> Response:
        """Takes a thumb, a complaint, a judgement or a comment about an answer of yours; a later one replaces it."""
        said = Feedback(
            outcome=asked.id, identity=who.identity, thumb=asked.thumb, complaint=asked.complaint, accuracy=asked.accuracy,
            comment=asked.comment,
        )  # fmt: skip
        await door.rollouts.outcomes.store_feedback(said)
        return Response(status_code=204)


def add_rollout(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes for those who lead the rollout."""

    @routes.get("/rollout", tags=["rollout"])
    async def status(_who: Annotated[Principal, OPERATOR]) -> RolloutView:
        """Returns where the rollout stands, what its guardrails show now, and its history."""
        return await describe()

    @routes.get("/rollout/report", tags=["rollout"])
    async def report(
        _who: Annotated[Principal, OPERATOR],
        since: Annotated[float | None, Query(ge=0, le=1e12)] = None,
        until: Annotated[float | None, Query(ge=0, le=1e12)] = None,
    ) -> ArmReportView:
        """Compares the arms in the present stage, or between two times; valid however often it is asked."""
        found = await report_arms(door.rollouts, since=since, until=until, now=time.time())
        return ArmReportView(**to_builtins(found))

    @routes.post("/rollout/steps", tags=["rollout"])
    async def take_step(asked: StepAsked, who: Annotated[Principal, OPERATOR]) -> RolloutView:
        """Takes a step for all processes: start, advance, hold, back (one stage) or rollback."""
        await door.rollouts.take_step(asked.step, by=who.identity.caller, reason=asked.reason, version=asked.version)
        return await describe()

    async def describe() -> RolloutView:
        found = await door.rollouts.describe()
        steps = (await door.rollouts.steps.list_steps(found.state.name))[:SHOWN_STEPS]
        state = to_builtins(found.state)
        state.pop("steps")
        return RolloutView(
            **state, enabled=found.is_enabled, next_at=found.next_at, stages=to_builtins(found.stages),
            guardrails=to_builtins(found.findings), steps=to_builtins(steps),
        )  # fmt: skip
