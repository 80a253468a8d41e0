"""Writes the question about a plan that needs approval, and reads the numbers of the approved calls from the answer."""

import re
from collections.abc import Mapping
from typing import Any

from gristmill.harmless_text import neutralize_text
from gristmill.model import Json, Plan
from gristmill.runs.texts.plan_text import LONGEST_ARGUMENTS, MOST_CALLS, describe_plan, encode_arguments

LONGEST_WHOLE = 4_000
LONGEST_QUESTION = 20_000
"""Most characters of one call's arguments, and of all together, that a question shows whole."""

ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "string",
            "title": "Approve",
            "description": "all (that are shown whole), none, or numbers such as 1,3",
            "default": "none",
        }
    },
    "required": ["approve"],
}


def write_question(plan: Plan) -> str:
    """Returns the text of the question about ``plan``."""
    longest = _choose_longest(plan)
    lines = ["A program wants to make these tool calls:", *describe_plan(plan, longest)]
    if len(_list_whole_calls(plan, longest)) < sum(call.needs_approval for call in plan.calls):
        lines.append(
            f"Not all is shown here: `gristmill approvals show {plan.id} --whole` shows it. `all` approves only the calls "
            "that are shown whole; a call that is cut is approved by its number."
        )
    if plan.stopped:
        lines.append(f"(the plan ends here: {neutralize_text(plan.stopped)})")
    return "\n".join(lines)


def read_approved_numbers(plan: Plan, content: Mapping[str, Json] | None) -> frozenset[int]:
    """Returns the numbers of the calls that the answer approves. An answer that is not clearly a yes approves none."""
    text = str((content or {}).get("approve", "")).strip().lower()
    shown = {call.number for call in plan.calls[:MOST_CALLS]}  # calls that were not shown cannot be approved
    if text == "all":
        return frozenset(_list_whole_calls(plan, _choose_longest(plan)))
    if not re.fullmatch(r"\d+(\s*[,\s]\s*\d+)*", text):
        return frozenset()
    return frozenset(number for number in map(int, re.findall(r"\d+", text)) if number in shown)


def _choose_longest(plan: Plan) -> int:
    """Returns how many characters of each call's arguments a question shows: more if all calls together stay readable."""
    sizes = [min(len(encode_arguments(call)), LONGEST_WHOLE) for call in plan.calls[:MOST_CALLS]]
    return LONGEST_WHOLE if sum(sizes) <= LONGEST_QUESTION else LONGEST_ARGUMENTS


def _list_whole_calls(plan: Plan, longest: int) -> list[int]:
    """Returns the numbers of the calls that need approval and are shown whole."""
    calls = [call for call in plan.calls[:MOST_CALLS] if call.needs_approval]
    return [call.number for call in calls if len(encode_arguments(call)) <= longest]
