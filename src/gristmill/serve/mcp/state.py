"""What the door keeps while it is open: handles, runs, the sessions each caller has used, who listens."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gristmill.serve.mcp.asking import Ctx
from gristmill.serve.mcp.changes import Changes
from gristmill.serve.mcp.files import FilesOf
from gristmill.serve.mcp.hall import Hall
from gristmill.serve.mcp.handles import Handles
from gristmill.serve.mcp.runs import Runs

MOST_SESSIONS = 64
MOST_CALLERS = 1_024


def local_caller(_ctx: Ctx) -> str:
    """Everybody is the same caller: right for one user on stdio, wrong as soon as there are two."""
    return "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Everything the handlers need. ``names`` are the servers as configured, for completion."""

    hall: Hall
    handles: Handles
    instructions: str
    names: tuple[str, ...] = ()
    caller: Callable[[Ctx], str] = local_caller
    files: FilesOf | None = None
    runs: Runs = field(default_factory=Runs)
    changes: Changes = field(default_factory=Changes)
    sessions: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    """Handles that each caller has used here, the latest last."""

    def remember(self, caller: str, session: str) -> None:
        """Note that ``caller`` works in ``session``."""
        used = self.sessions.setdefault(caller, {})
        used.pop(session, None)
        used[session] = None
        while len(used) > MOST_SESSIONS:
            del used[next(iter(used))]
        while len(self.sessions) > MOST_CALLERS:
            del self.sessions[next(iter(self.sessions))]

    async def close(self) -> None:
        """End every run and every listener."""
        await self.changes.close()
        await self.runs.close()
