"""Text on its way to a terminal: nothing that came from code or a tool may steer it."""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gristmill.model import Outcome
from gristmill.serve.harmless_text import harmless as harmless

if TYPE_CHECKING:
    from rich.console import Console


def stdout() -> "Console":
    """Where results go. Colour only on a terminal and never against NO_COLOR."""
    from rich.console import Console  # plain text and JSON do without

    return Console(highlight=False, soft_wrap=True)


def stderr() -> "Console":
    """Where everything about a result goes."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_text(text: str) -> None:
    """Text of strangers on stdout, as it is and harmless."""
    sys.stdout.write(harmless(text) + "\n")


def print_json(value: Any) -> None:
    """One JSON document on stdout, safe for any reader."""
    sys.stdout.write(json.dumps(value, indent=2, default=str) + "\n")


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain JSON."""
    return {**asdict(outcome), "tools_called": list(outcome.tools_called)}


def summary(outcome: Outcome) -> str:
    """An outcome in one line."""
    colour = "green" if outcome.success else "red"
    parts = [
        f"[{colour}]{outcome.status}[/]" + (f" ({outcome.limit})" if outcome.limit else ""),
        f"{outcome.execution_time_ms:.1f} ms",
        f"{outcome.memory_mb:.1f} MB",
        f"isolation {outcome.isolation}",
    ]
    if outcome.tools_called:
        parts.append(f"{len(outcome.tools_called)} tools called")
    if outcome.session:
        parts.append(f"session {harmless(outcome.session)}, state {outcome.state}")
    if outcome.truncated:
        parts.append("output truncated")
    return " · ".join(parts)
