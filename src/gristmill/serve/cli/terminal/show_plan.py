"""Prints a plan by tool and asks the user to approve it. Text in the plan is escaped, so that it cannot control the terminal."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from gristmill.model import Outcome, Plan, PlannedCall
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_hints, stderr, style_parts, summarize_outcome

if TYPE_CHECKING:
    from rich.console import Console

PlanAnswer = Literal["all", "none"] | Sequence[int]

NAMED_CALLS = 10
LONGEST_RANGE = 100_000
"""Longest range of numbers in an answer, such as 1-100000."""
SHOWN_CHARACTERS = 300
"""Characters shown of a call's arguments at first. What was not shown whole is not approved with `all`."""


def find_cut_calls(plan: Plan) -> list[int]:
    """Returns the numbers of the calls that need approval and whose arguments are too long to be shown at first."""
    return [call.number for call in plan.calls if call.needs_approval and len(_encode_arguments(call)) > SHOWN_CHARACTERS]


def print_ending(outcome: Outcome) -> None:
    """Prints how an execution ended: its error, hints, what it did, and how to decide a plan that waits."""
    if outcome.error:
        stderr().print(neutralize_text(outcome.error), style="red")
    print_hints(stderr(), outcome)
    stderr().print(summarize_outcome(outcome), style="dim")
    if outcome.status == "awaiting_approval" and outcome.plan is not None:
        print_plan(stderr(), outcome.plan)
        stderr().print(f"decide: gristmill approvals approve {outcome.plan.id}   (or deny, or --only 1,3)")
        stderr().print(f"then:   gristmill run --resume {outcome.id}")


def print_plan(console: "Console", plan: Plan, *, whole: bool = False) -> None:
    """Prints every call of ``plan``, grouped by tool, in the order of the program; long arguments are cut unless ``whole``."""
    groups: dict[str, list[PlannedCall]] = {}
    for call in plan.calls:
        groups.setdefault(call.tool, []).append(call)
    for tool, calls in groups.items():
        many = f" ({len(calls)} calls)" if len(calls) > 1 else ""
        console.print(f"{neutralize_text(tool)}{many}", style="bold")
        for call in calls:
            _print_call(console, call, plan, whole=whole)
    if plan.stopped:
        console.print(f"the plan ends early: {neutralize_text(plan.stopped)}", style="yellow")


def _encode_arguments(call: PlannedCall) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False)


def _print_call(console: "Console", call: PlannedCall, plan: Plan, *, whole: bool) -> None:
    text = _encode_arguments(call)
    shown = text if whole else text[:SHOWN_CHARACTERS]
    console.print(f"  {call.number:>3}  {neutralize_text(shown)}{' ...' if len(shown) < len(text) else ''}")
    if len(shown) < len(text):
        step = f"; whole: gristmill approvals show {plan.id} --whole" if plan.id else ""
        console.print(f"       cut: {len(text) - len(shown):,} more characters, sha256 {call.hash}{step}", style="yellow")
    if call.was_lost:
        console.print("       was sent before, but its answer was lost: it may have been done already", style="yellow")
    if not call.needs_approval:
        console.print("       needs no approval; waits for the calls before it", style="dim")
    for line in (call.diff or "").splitlines():
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
        console.print(f"       {neutralize_text(line)}", style=style)


def ask_at_terminal(console: "Console", plan: Plan) -> PlanAnswer:
    """Prints ``plan`` and reads the answer: a for all, n for none, or numbers such as `1,3-5`. End of input means none.

    While arguments are cut, `all` is not offered; w shows the plan whole.
    """
    console.print()
    print_plan(console, plan)
    cut = find_cut_calls(plan)
    while True:
        offer = (("w", "bold"), "hole, ") if cut else (("a", "bold"), "ll, ")
        console.print(style_parts("approve? ", *offer, ("n", "bold"), "one, or numbers such as 1,3-5: "), end="")
        try:
            answer = input().strip().lower()
        except EOFError:
            return "none"
        if answer in ("w", "whole"):
            cut = []
            print_plan(console, plan, whole=True)
            continue
        if answer in ("a", "all", "y", "yes") and cut:
            console.print(f"not all is shown of {_name_calls(cut)}: type w to see it, or give numbers", style="yellow")
            continue
        if answer in ("a", "all", "y", "yes"):
            return "all"
        if answer in ("n", "no", "none", ""):
            return "none"
        try:
            return parse_numbers(answer)
        except ValueError:
            console.print("type a, n, or numbers such as 1,3-5", style="yellow")


def _name_calls(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:NAMED_CALLS])) + (" ..." if len(numbers) > NAMED_CALLS else "")
    return f"call{'s' if len(numbers) > 1 else ''} {listed}"


def explain_cut(plan: Plan) -> str | None:
    """Returns why a plan cannot be approved as a whole without its numbers, and what to do; None if it can."""
    cut = find_cut_calls(plan)
    if not cut:
        return None
    asked = ",".join(str(call.number) for call in plan.calls[:NAMED_CALLS] if call.needs_approval)
    return (
        f"not all is shown of {_name_calls(cut)}: read the plan with `gristmill approvals show {plan.id} --whole`, "
        f"then approve by number, such as --only {asked}"
    )


def parse_numbers(text: str) -> list[int]:
    """Parses numbers such as ``1,3-5``.

    Raises:
        ValueError: ``text`` is not such a list, or a range in it is too long.
    """
    found: list[int] = []
    for part in text.replace(" ", ",").split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        start, end = int(first), int(last if dash else first)
        if end - start > LONGEST_RANGE:
            raise ValueError(text)
        found += range(start, end + 1)
    if not found:
        raise ValueError(text)
    return found
