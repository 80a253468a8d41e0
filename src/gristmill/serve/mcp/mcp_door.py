"""What the door keeps while it is open: the hall, the runs, who listens."""

from collections.abc import Callable
from dataclasses import field

from gristmill.serve.mcp.get_runtime import Hall
from gristmill.serve.mcp.questions.ask_client import Ctx
from gristmill.serve.mcp.resources.file_changes import Changes
from gristmill.serve.mcp.runs import Runs
from gristmill.serve.mcp.who import LOCAL, Who
from gristmill.values import dataclass

TASK_AFTER_SECONDS = 2.0
"""Most programs are done by then, and asking for a task costs a second round at least."""


def local_caller(_ctx: Ctx) -> Who:
    """Everybody is the same caller: right for one user on stdio, wrong as soon as there are two."""
    return LOCAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Everything the handlers need. ``names`` are the servers as configured, for completion."""

    hall: Hall
    instructions: str
    names: tuple[str, ...] = ()
    direct_calls: bool = False
    on_wire: bool = False
    """Whether requests come as messages: then a client that wants progress sends a token. In memory nobody can tell."""
    task_after: float = TASK_AFTER_SECONDS
    """How long a client that has tasks waits for an answer before it gets a task instead."""
    who: Callable[[Ctx], Who] = local_caller
    runs: Runs = field(default_factory=Runs)
    changes: Changes = field(default_factory=Changes)

    async def close(self) -> None:
        """End every run and every listener."""
        await self.changes.close()
        await self.runs.close()
