"""A plan on the terminal: what would be done, by tool, and the question whether it may. Nothing in it can steer the terminal."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from gristmill.serve.cli.terminal.safe_output import harmless

if TYPE_CHECKING:
    from rich.console import Console

    from gristmill.model import Plan, PlannedCall

Answer = Literal["all", "none"] | Sequence[int]

MOST = 100_000
"""Numbers in one range of an answer."""
ARGUMENTS = 300
"""Characters of a call's arguments in the overview; `--json` shows all."""


def print_plan(console: "Console", plan: "Plan") -> None:
    """Every call of ``plan``, grouped by tool in the order of the program."""
    groups: dict[str, list[PlannedCall]] = {}
    for call in plan.calls:
        groups.setdefault(call.tool, []).append(call)
    for tool, calls in groups.items():
        many = f" ({len(calls)} calls)" if len(calls) > 1 else ""
        console.print(f"{harmless(tool)}{many}", style="bold", markup=False)
        for call in calls:
            _print_call(console, call)
    if plan.stopped:
        console.print(f"the plan ends early: {harmless(plan.stopped)}", style="yellow", markup=False)


def _print_call(console: "Console", call: "PlannedCall") -> None:
    text = json.dumps(dict(call.arguments), ensure_ascii=False)
    more = f" ... ({len(text) - ARGUMENTS:,} more)" if len(text) > ARGUMENTS else ""
    console.print(f"  {call.number:>3}  {harmless(text[:ARGUMENTS])}{more}", markup=False)
    if call.was_lost:
        console.print("       was sent before and its answer was lost: it may have been done already", style="yellow")
    if not call.needs_approval:
        console.print("       needs no approval; waits for those before it", style="dim")
    for line in (call.diff or "").splitlines():
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
        console.print(f"       {harmless(line)}", style=style, markup=False)


def ask_at_terminal(console: "Console", plan: "Plan") -> Answer:
    """Show ``plan`` and read the answer: a for all, n for none, or numbers such as `1,3-5`."""
    console.print()
    print_plan(console, plan)
    while True:
        console.print("approve? [b]a[/]ll, [b]n[/]one, or numbers such as 1,3-5: ", end="")
        try:
            answer = input().strip().lower()
        except EOFError:
            return "none"
        if answer in ("a", "all"):
            return "all"
        if answer in ("n", "no", "none", ""):
            return "none"
        try:
            return numbers(answer)
        except ValueError:
            console.print("that is no answer", style="yellow")


def numbers(text: str) -> list[int]:
    """``1,3-5`` as numbers.

    Raises:
        ValueError: it is something else.
    """
    found: list[int] = []
    for part in text.replace(" ", ",").split(","):
        if not part:
            continue
        first, dash, last = part.partition("-")
        start, end = int(first), int(last if dash else first)
        if end - start > MOST:
            raise ValueError(text)
        found += range(start, end + 1)
    if not found:
        raise ValueError(text)
    return found
