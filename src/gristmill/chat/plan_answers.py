"""Writes the question about a plan as a value, and reads the answer of a person. What is not understood approves nothing."""

import hashlib
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from gristmill.chat.code_backends import Approved
from gristmill.harmless_text import neutralize_json, neutralize_text
from gristmill.model import Plan

KIND = "gristmill.approval"
ANSWER = 'answer {"approve": "all"}, {"approve": "none"} or {"approve": [numbers]}; add the hash to be sure of the plan'


class PlanAnswer(Struct, frozen=True, kw_only=True):
    """What a person decided, who it was, and why an answer could not be used."""

    approve: Approved
    by: str | None = None
    problem: str | None = None


def describe_question(plan: Plan) -> dict[str, Any]:
    """Returns the question: every call in order, the calls grouped by tool, and a hash of all that is asked."""
    groups: dict[str, list[int]] = {}
    for call in plan.calls:
        groups.setdefault(neutralize_text(call.tool), []).append(call.number)
    calls: list[dict[str, Any]] = [
        {
            "number": call.number, "tool": neutralize_text(call.tool), "arguments": neutralize_json(dict(call.arguments)),
            "rule": call.rule, "needs_approval": call.needs_approval, "was_lost": call.was_lost,
            "diff": neutralize_text(call.diff) if call.diff else None, "hash": call.hash,
        }
        for call in plan.calls
    ]  # fmt: skip
    return {
        "type": KIND, "approval": plan.id, "execution": plan.execution, "hash": hash_plan(plan), "expires": plan.expires,
        "groups": [{"tool": tool, "calls": numbers} for tool, numbers in groups.items()], "calls": calls,
        "stopped": neutralize_text(plan.stopped) if plan.stopped else None, "answer": ANSWER,
    }  # fmt: skip


def hash_plan(plan: Plan) -> str:
    """Returns a digest of what is asked: the same for the same calls in the same order."""
    asked = [(call.number, call.tool, call.hash, call.occurrence, call.needs_approval) for call in plan.calls]
    return hashlib.sha256(msgspec.json.encode(asked)).hexdigest()


def read_plan_answer(plan: Plan, answer: Any) -> PlanAnswer:
    """Reads the answer; what is not understood approves nothing, and ``problem`` says why."""
    if not isinstance(answer, Mapping):
        answer = {"approve": answer}
    given = cast("Mapping[str, Any]", answer)
    by = given.get("by") if isinstance(given.get("by"), str) else None
    if given.get("hash") not in (None, hash_plan(plan)):
        return PlanAnswer(approve="none", by=by, problem="the answer was given for another plan, so nothing was approved")
    approve = given.get("approve")
    if approve in ("all", "none"):
        return PlanAnswer(approve=approve, by=by)
    numbers = cast("list[Any]", approve) if isinstance(approve, list) else None
    if numbers is None or not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        return PlanAnswer(approve="none", by=by, problem=f"the answer was not understood, so nothing was approved: {ANSWER}")
    known = {call.number for call in plan.calls}
    if unknown := [number for number in numbers if number not in known]:
        return PlanAnswer(approve="none", by=by, problem=f"the plan has no call {unknown[0]}, so nothing was approved")
    return PlanAnswer(approve=[int(number) for number in numbers], by=by)
