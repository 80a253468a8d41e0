"""Writes the calls of a plan as lines, for a person and for a model."""

import json

from gristmill.harmless_text import neutralize_json, neutralize_text
from gristmill.model import Plan, PlannedCall

MOST_CALLS = 50
LONGEST_ARGUMENTS = 300
"""Most characters that are shown of a call's arguments where there are many calls, and to a model."""


def describe_plan(plan: Plan, longest: int = LONGEST_ARGUMENTS) -> list[str]:
    """Returns one line per call, for at most ``MOST_CALLS`` calls; arguments of more than ``longest`` characters are cut."""
    lines = [_describe_call(call, longest) for call in plan.calls[:MOST_CALLS]]
    return lines + ([f"... and {len(plan.calls) - MOST_CALLS} more"] if len(plan.calls) > MOST_CALLS else [])


def encode_arguments(call: PlannedCall) -> str:
    """Returns the arguments of a call as one line of JSON that steers no terminal."""
    return json.dumps(neutralize_json(dict(call.arguments)), ensure_ascii=False, default=str)


def _describe_call(call: PlannedCall, longest: int) -> str:
    arguments = encode_arguments(call)
    left_out = len(arguments) - longest
    shown = arguments if left_out <= 0 else f"{arguments[:longest]}... (cut: {left_out:,} more characters, sha256 {call.hash})"
    twice = " (sent before, its answer was lost: may happen twice)" if call.was_lost else ""
    marked = "" if call.needs_approval else " (allowed)"
    return f"{call.number}. {neutralize_text(call.tool)} {shown}{marked}{twice}"
