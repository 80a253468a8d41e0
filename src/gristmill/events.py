"""The events that happen while code runs, as values. Rooms emit them; the runtime decides where they go."""

from collections.abc import Callable

from msgspec import Struct


class OutputWritten(Struct, frozen=True, kw_only=True):
    """The code wrote to stdout or stderr."""

    execution: str
    text: str


class CallStarted(Struct, frozen=True, kw_only=True):
    """A tool call left the sandbox."""

    execution: str
    call: int
    tool: str


class CallFinished(Struct, frozen=True, kw_only=True):
    """A tool call was answered; ``ok`` is false when the code got an exception, gave the call up (``abandoned``), or got a
    stand-in because the call was not sent, only ``planned``."""

    execution: str
    call: int
    tool: str
    ok: bool
    abandoned: bool = False
    planned: bool = False


class CallProgressed(Struct, frozen=True, kw_only=True):
    """A server reported the progress of a call; ``total`` is None when the server does not know it."""

    execution: str
    call: int
    tool: str
    progress: float
    total: float | None = None
    message: str | None = None


SERVER_OUTPUT = "; it said: "
"""What separates the error of a server, in one line, from the last line that its program wrote to its own log."""


def drop_server_output(error: str) -> str:
    """Returns the error of a server without its program's own output, which may contain secrets."""
    return error.partition(SERVER_OUTPUT)[0]


class ServerChanged(Struct, frozen=True, kw_only=True):
    """A server became ready, failed or stopped; ``error`` is one line, without secrets."""

    server: str
    state: str
    error: str | None = None


class ToolsListed(Struct, frozen=True, kw_only=True):
    """A server listed its tools, and the list differs from its previous one."""

    server: str
    tools: int


class ToolsChanged(Struct, frozen=True, kw_only=True):
    """The catalogue changed: keys of tools that were added, removed, or have a new definition."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class DefinitionChanged(Struct, frozen=True, kw_only=True):
    """A tool's definition is not the one that was accepted; ``places`` says where they differ."""

    tool: str
    places: tuple[str, ...]


class DefinitionFlagged(Struct, frozen=True, kw_only=True):
    """A definition holds hidden characters or mentions another server's tools: a reason to look at it, not a proof of harm."""

    tool: str
    rule: str
    place: str
    shown: str


class ConfigChanged(Struct, frozen=True, kw_only=True):
    """The configuration was changed while it was in use: names of servers, and of sections that wait for a restart.

    With an ``error`` the new one cannot be used, and nothing has changed.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    policy: bool = False
    rollout: bool = False
    waiting: tuple[str, ...] = ()
    error: str | None = None


Event = (
    OutputWritten | CallStarted | CallFinished | CallProgressed | ServerChanged | ToolsListed
    | ToolsChanged | DefinitionChanged | DefinitionFlagged | ConfigChanged
)  # fmt: skip
Emit = Callable[[Event], None]


def ignore_event(_event: Event) -> None:
    """Discards an event; the ``Emit`` of callers that want no events."""
