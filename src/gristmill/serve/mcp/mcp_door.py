"""The state of the MCP door while it is open: the runtime, the runs and the listeners."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from gristmill.events import ConfigChanged
from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.runtime.values.session_values import SessionRecord
from gristmill.serve.mcp.conversation_names import ConversationNames
from gristmill.serve.mcp.door_runs import DoorRuns
from gristmill.serve.mcp.get_runtime import Hall
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.resources.file_changes import FileChanges
from gristmill.serve.mcp.short_handles import read_short_handle, shorten_handle
from gristmill.serve.mcp.tools.changed_servers import ChangedServers
from gristmill.serve.mcp.tools.shown_tools import ShownTools

if TYPE_CHECKING:
    from gristmill.runs.served_runs import ServedRuns

TASK_AFTER_SECONDS = 2.0
"""Most programs end within this time, and a task costs the client at least one more request."""


def identify_local_caller(_ctx: Ctx) -> Identity:
    """Returns the same caller for every request: right for the one user on stdio, wrong as soon as there are two."""
    return LOCAL_IDENTITY


class McpDoor(Struct, frozen=True, kw_only=True):
    """Everything that the handlers need, shared by all requests."""

    hall: Hall
    instructions: str
    server_names: tuple[str, ...] = ()
    """The names of the configured servers, for completion."""
    example: str | None = None
    """The import of a connected tool, which the description of ``execute_code`` shows."""
    masks: bool = False
    """Whether values are masked, which the description explains then."""
    direct_calls: bool = False
    on_wire: bool = False
    """Whether requests arrive as messages: then a client that wants progress sends a token. In memory there is no such sign."""
    task_after: float = TASK_AFTER_SECONDS
    """How long a client that accepts tasks waits for an answer before it gets a task instead."""
    identify_caller: Callable[[Ctx], Identity] = identify_local_caller
    runs: DoorRuns = field(default_factory=DoorRuns)
    shown_tools: ShownTools = field(default_factory=ShownTools)
    file_changes: FileChanges = field(default_factory=FileChanges)
    changed_servers: ChangedServers = field(default_factory=ChangedServers)
    conversations: ConversationNames = field(default_factory=ConversationNames)

    @property
    def servers_now(self) -> tuple[str, ...]:
        """The names of the servers that are configured now."""
        names = self.changed_servers.names
        return self.server_names if names is None else names

    def take_note(self, change: ConfigChanged) -> None:
        """Takes note of a change of the configuration, and tells clients if that changes a description."""
        names = set(self.servers_now).difference(change.removed).union(change.added)
        if self.changed_servers.note_servers(self.server_names, sorted(names)):
            self.changed_servers.start_notifying()
            self.file_changes.start_announcing_tools()

    @property
    def has_one_user(self) -> bool:
        """Whether all requests come from the one user on stdio."""
        return self.identify_caller is identify_local_caller

    def name_session(self, handle: str) -> str:
        """Returns what a client is told of a session with that handle: on stdio a short one, as models write it often."""
        return shorten_handle(handle) if self.has_one_user else handle

    async def find_session(self, wanted: str, identity: Identity) -> SessionRecord:
        """Returns the session with that handle. The handle alone is not proof: the session must belong to the caller.

        Raises:
            UnknownSession: this caller has no such session.
        """
        sessions = (await self.hall()).session_stores.sessions
        beginning = read_short_handle(wanted) if self.has_one_user else None
        found = await sessions.find_beginning(beginning, identity=identity) if beginning else None
        return await sessions.get(found or wanted, identity=identity)

    async def get_runs(self) -> "ServedRuns":
        """Returns the runs of the process.

        Raises:
            Error: the runtime could not be opened.
        """
        return await self.runs.get(self.hall)

    async def close(self) -> None:
        """Ends every run and every listener."""
        await self.changed_servers.close()
        await self.file_changes.close()
        await self.runs.close()
