"""What happens while code runs, as values. Rooms emit them; the hall decides who listens."""

from collections.abc import Callable

from gristmill.values import dataclass


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallProgressed:
    """A server says how far a call is; ``total`` is unknown for many."""

    execution: str
    call: int
    tool: str
    progress: float
    total: float | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerChanged:
    """A server became ready, failed or ended; ``error`` is one line, without secrets."""

    server: str
    state: str
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsListed:
    """A server's tools were listed, and they differ from those before."""

    server: str
    tools: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsChanged:
    """The catalogue is another one: keys that came, went, or have another definition than before."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionChanged:
    """A tool's definition is not the one that was accepted; ``places`` says where they differ."""

    tool: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionFlagged:
    """A definition carries hidden characters or speaks of another server's tools: a reason to look, not a verdict."""

    tool: str
    rule: str
    place: str
    shown: str


Event = (
    OutputWritten | CallStarted | CallFinished | CallProgressed | ServerChanged | ToolsListed
    | ToolsChanged | DefinitionChanged | DefinitionFlagged
)  # fmt: skip
Emit = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """An ``Emit`` for callers who do not listen."""
