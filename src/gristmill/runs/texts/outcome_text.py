"""Writes an outcome as text for a model: our own lines first and the program's output last, so that no output passes for ours."""

import json
from datetime import UTC, datetime
from typing import Any

from gristmill.harmless_text import neutralize_json, neutralize_text
from gristmill.model import LeftOut, Outcome, Plan
from gristmill.runs.texts.plan_text import describe_plan


def render_text(outcome: Outcome, *, expires: float | None = None) -> str:
    """Returns the outcome as text for a model; ``expires`` is when its session ends, if the model does not know it yet."""
    hints = [f"hint: {neutralize_text(line)}" for line in outcome.advice]
    parts = [_write_head(outcome), *hints, *map(_describe_left_out, outcome.left_out)]
    if outcome.session and expires:
        parts.append(f"session: {outcome.session} (kept until {_format_day(expires)}, longer when used)")
    if outcome.plan:
        parts += _describe_approval(outcome.plan)
    if outcome.result is not None:
        parts.append(f"result: {_dump_json(neutralize_json(outcome.result))}")
    if outcome.error:
        parts.append(f"error: {neutralize_text(outcome.error.rstrip())}")
    if outcome.output:
        parts.append(f"output:\n{neutralize_text(outcome.output.rstrip())}")
    return "\n".join(parts)


def _write_head(outcome: Outcome) -> str:
    head = outcome.status + (f" ({outcome.limit})" if outcome.limit else "")
    if outcome.status != "ok":
        head += f", id {outcome.id}"  # the model needs it for resume
    if outcome.replay and outcome.replay.answered:
        head += f", {outcome.replay.answered} calls answered from the run before"
    return head


def _describe_left_out(left: LeftOut) -> str:
    where = f" in {left.path}" if left.path else ""
    return neutralize_text(f"left out of {left.part}: {left.tokens} tokens{where}; {left.how}")


def _describe_approval(plan: Plan) -> list[str]:
    where = f"{plan.url} or " if plan.url else ""
    told = f"It waits for approval {plan.id}. Tell the user what it wants to do, and to decide:"
    tell = f"{told} {where}`gristmill approvals show {plan.id}`;"
    return [f"{tell} then call execute_code with resume={plan.execution}:", *describe_plan(plan)]


def _format_day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
