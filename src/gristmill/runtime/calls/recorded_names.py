"""Names of tools for records: only names that exist are kept. Code can invent any name, of any length and any characters."""

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from gristmill.events import CallFinished, CallProgressed, CallStarted, Emit, Event, ignore_event
from gristmill.runtime.calls.answer_discovery import DISCOVERY_NAMES, RESERVED_SERVER
from gristmill.runtime.calls.answer_session import SESSION_NAMES

UNKNOWN_TOOL = "unknown"
"""The name in records, counts, events and outcomes of every tool that does not exist."""

NameTool = Callable[[str], str]
"""Returns the name under which a call is recorded, for the name that code wrote."""

_RESERVED_KEYS = frozenset(f"{RESERVED_SERVER}.{name}" for name in (*DISCOVERY_NAMES, *SESSION_NAMES))


def build_name_tool(find_key: Callable[[str], str | None]) -> NameTool:
    """Returns the function that names tools for records; ``find_key`` returns the key of a tool of the catalogue, or None."""

    def name_tool(written: str) -> str:
        return find_key(written) or (written if written in _RESERVED_KEYS else UNKNOWN_TOOL)

    return name_tool


def name_tools_called(written: Iterable[str], name_tool: NameTool) -> tuple[str, ...]:
    """Returns the names of the tools that a program has called, each once."""
    return tuple(dict.fromkeys(map(name_tool, written)))


def name_events(emit: Emit, name_tool: NameTool) -> Emit:
    """Returns an emitter that passes events on with the names that are recorded."""
    if emit is ignore_event:
        return emit

    def emit_named(event: Event) -> None:
        if isinstance(event, CallStarted | CallFinished | CallProgressed):
            event = replace(event, tool=name_tool(event.tool))
        emit(event)

    return emit_named
