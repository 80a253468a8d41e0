"""Prints results to the terminal. Text from programs, tools and servers is escaped: it cannot control the terminal.

All that is printed is plain text for rich: brackets in a text are printed as they are. Colours come from a
``style``, or from ``style_parts`` where only a part of a line has one.
"""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from gristmill.harmless_text import neutralize_text as neutralize_text
from gristmill.model import Outcome

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


def stdout() -> "Console":
    """Returns a console for results. It uses colour only on a terminal, and never if NO_COLOR is set."""
    return _open_console(to_stderr=False)


def stderr() -> "Console":
    """Returns a console for messages about a result."""
    return _open_console(to_stderr=True)


def _open_console(*, to_stderr: bool) -> "Console":
    from rich.console import Console  # plain text and JSON do not need it

    return Console(stderr=to_stderr, markup=False, emoji=False, highlight=False, soft_wrap=True)


def style_parts(*parts: str | tuple[str, str]) -> "Text":
    """Returns a line of several parts, each a text or a text and its style. Control characters are escaped."""
    from rich.text import Text

    return Text.assemble(
        *(neutralize_text(part) if isinstance(part, str) else (neutralize_text(part[0]), part[1]) for part in parts)
    )


def print_server_output(console: "Console", lines: Sequence[str]) -> None:
    """Prints the last lines that a server's program wrote to stderr, each with a bar in front; one line alone is in its error."""
    for line in lines if len(lines) > 1 else ():
        console.print(f"        | {neutralize_text(line)}", style="dim")


def print_error(message: str) -> None:
    """Prints an error of ours, as one line."""
    stderr().print(style_parts(("error", "red"), f" {message}"))


def print_text(text: str) -> None:
    """Prints untrusted text to stdout, with control characters escaped."""
    sys.stdout.write(neutralize_text(text) + "\n")


def print_json(value: Any) -> None:
    """Prints one JSON document to stdout, in ASCII."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """Converts an outcome to values that JSON can hold."""
    return {**to_builtins(outcome), "tools_called": list(outcome.tools_called)}


def print_hints(console: "Console", outcome: Outcome) -> None:
    """Prints what the outcome advises, a line for each hint."""
    for line in outcome.advice:
        console.print(neutralize_text(f"hint: {line}"), style="yellow")


def summarize_outcome(outcome: Outcome) -> "Text":
    """Describes an outcome in one line."""
    status = (outcome.status, "green" if outcome.success else "red")
    parts = [
        f"{outcome.execution_time_ms:.1f} ms",
        f"{outcome.memory_mb:.1f} MB",
        f"isolation {outcome.isolation}",
    ]
    if outcome.tools_called:
        parts.append(f"{len(outcome.tools_called)} tools called")
    if outcome.session:
        parts.append(f"session {outcome.session}, state {outcome.state}")
    if outcome.truncated:
        parts.append("output truncated")
    return style_parts(status, f" ({outcome.limit})" if outcome.limit else "", *(f" · {part}" for part in parts))
