"""What a supervisor is told: how to treat its server, and the parts of the world it may use. Values only."""

from collections.abc import Callable
from dataclasses import field

from gristmill.events import Emit, ignore
from gristmill.upstream.base import Ask
from gristmill.upstream.circuit_breaker import Backoff, Dice
from gristmill.upstream.remembered_tools import Remembered
from gristmill.upstream.surroundings import always
from gristmill.upstream.tool_filter import Filter
from gristmill.values import dataclass


def forget(_remembered: Remembered) -> None:
    """Keeps nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How one server is treated."""

    kind: str
    legacy: bool = False
    connect_seconds: float = 30.0
    call_seconds: float = 60.0
    health_seconds: float = 60.0
    relist_seconds: float = 1.0
    check_output: bool = True
    only: Filter = field(default_factory=Filter)
    backoff: Backoff = field(default_factory=Backoff)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Everything of the world that a supervisor uses."""

    dice: Dice
    emit: Emit = ignore
    heard: Callable[[str], bool] = always
    """Whether somebody listens to this execution."""
    ask: Ask | None = None
    mask: Callable[[str], str] = str
    """Takes secrets out of a message."""
    explain: Callable[[], str] = str
    """The server's last words, if it has any."""
    keep: Callable[[Remembered], None] = forget
    """Remembers a catalogue; runs in a thread."""
