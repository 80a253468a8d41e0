"""What happens while code runs, as values. Rooms emit them; the hall decides who listens."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputWritten:
    """The code wrote to stdout or stderr."""

    execution: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """A tool call left the sandbox."""

    execution: str
    call: int
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFinished:
    """A tool call was answered; ``ok`` is false when the code got an exception."""

    execution: str
    call: int
    tool: str
    ok: bool


Event = OutputWritten | CallStarted | CallFinished
Emit = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """An ``Emit`` for callers who do not listen."""
