"""What a supervisor is given: the terms for its server, and the functions of the outside that it may call. Values only."""

from collections.abc import Callable

from msgspec import Struct, field

from gristmill.events import Emit, ignore_event
from gristmill.upstream.base import Ask
from gristmill.upstream.circuit_breaker import Backoff, Dice
from gristmill.upstream.json_limits import JsonLimits
from gristmill.upstream.listing.remembered_tools import RememberedTools
from gristmill.upstream.listing.tool_filter import ToolFilter
from gristmill.upstream.surroundings import assume_listener


def discard_tools(_remembered: RememberedTools) -> None:
    """Discards the tools: for supervisors that remember nothing."""


class ServerTerms(Struct, frozen=True, kw_only=True):
    """The timeouts, filters and checks for one server."""

    kind: str
    legacy: bool = False
    connect_seconds: float = 30.0
    call_seconds: float = 60.0
    health_seconds: float = 60.0
    relist_seconds: float = 1.0
    check_output: bool = True
    limits: JsonLimits = field(default_factory=JsonLimits)
    tool_filter: ToolFilter = field(default_factory=ToolFilter)
    backoff: Backoff = field(default_factory=Backoff)


class OutsideHooks(Struct, frozen=True, kw_only=True):
    """All functions from outside this room that a supervisor calls."""

    dice: Dice
    emit: Emit = ignore_event
    has_listener: Callable[[str], bool] = assume_listener
    """Whether anyone receives the events of this execution."""
    ask: Ask | None = None
    mask: Callable[[str], str] = str
    """Replaces secrets in a message."""
    describe_failure: Callable[[], str] = str
    """Returns what the server's program said about its failure, or an empty text."""
    read_output: Callable[[], tuple[str, ...]] = tuple
    """Returns the last lines that the server's program wrote to stderr."""
    save_tools: Callable[[RememberedTools], None] = discard_tools
    """Saves the listed tools for the next start; runs in a thread."""
