"""A plan that waits for approval, as a question to the person behind the client, and their answer as approved numbers."""

import json
import re
from collections.abc import Mapping
from typing import Any

from gristmill.model import Json, Plan, PlannedCall
from gristmill.serve.harmless_text import harmless, harmless_json

MOST_CALLS = 50
LONGEST_ARGUMENTS = 300

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "string",
            "title": "Approve",
            "description": "all, none, or numbers such as 1,3",
            "default": "none",
        }
    },
    "required": ["approve"],
}


def question(plan: Plan) -> str:
    """What the person is asked."""
    lines = ["A program wants to make these tool calls:", *plan_lines(plan)]
    if plan.stopped:
        lines.append(f"(the plan ends here: {harmless(plan.stopped)})")
    return "\n".join(lines)


def plan_lines(plan: Plan) -> list[str]:
    """One line per call."""
    lines = [_line(call) for call in plan.calls[:MOST_CALLS]]
    return lines + ([f"... and {len(plan.calls) - MOST_CALLS} more"] if len(plan.calls) > MOST_CALLS else [])


def approved(plan: Plan, content: Mapping[str, Json] | None) -> frozenset[int]:
    """The numbers that the answer approves. Whatever is not clearly a yes is a no."""
    text = str((content or {}).get("approve", "")).strip().lower()
    shown = {call.number for call in plan.calls[:MOST_CALLS]}  # nobody approves what they were not shown
    if text == "all":
        return frozenset(shown)
    if not re.fullmatch(r"\d+(\s*[,\s]\s*\d+)*", text):
        return frozenset()
    return frozenset(number for number in map(int, re.findall(r"\d+", text)) if number in shown)


def _line(call: PlannedCall) -> str:
    arguments = json.dumps(harmless_json(dict(call.arguments)), ensure_ascii=False, default=str)
    shown = arguments if len(arguments) <= LONGEST_ARGUMENTS else arguments[: LONGEST_ARGUMENTS - 3] + "..."
    twice = " (sent before, its answer was lost: may happen twice)" if call.was_lost else ""
    marked = "" if call.needs_approval else " (allowed)"
    return f"{call.number}. {harmless(call.tool)} {shown}{marked}{twice}"
