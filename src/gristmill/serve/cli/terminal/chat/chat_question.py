"""Turns the question of a turn that waits into the plan that a terminal shows."""

from collections.abc import Mapping
from typing import Any

from gristmill.model import Plan, PlannedCall


def read_question(question: Mapping[str, Any]) -> Plan:
    """Returns the plan that a question describes."""
    calls = tuple(
        PlannedCall(
            number=call["number"], tool=call["tool"], arguments=call["arguments"], rule=call["rule"], hash=call["hash"],
            needs_approval=call["needs_approval"], was_lost=call["was_lost"], diff=call["diff"],
        )
        for call in question["calls"]
    )  # fmt: skip
    return Plan(
        id=question["approval"],
        execution=question["execution"],
        calls=calls,
        expires=question["expires"],
        stopped=question["stopped"],
    )
