"""Counts what each tenant did since the process started."""

from collections import Counter
from dataclasses import dataclass, field

from gristmill.model import Outcome

MOST_TOOLS = 10_000
"""How many names of tools are counted; the names come from programs."""


@dataclass(slots=True)
class TenantCounts:
    """Counts of what one tenant did since the process started."""

    statuses: Counter[str] = field(default_factory=Counter[str])
    tools: Counter[str] = field(default_factory=Counter[str])
    milliseconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        """Counts one outcome."""
        self.statuses[outcome.status] += 1
        self.milliseconds += outcome.execution_time_ms
        if len(self.tools) < MOST_TOOLS:
            self.tools.update(outcome.tools_called)
