"""What the door keeps while it is open: the hall, the runs, who listens."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gristmill.serve.mcp.asking import Ctx
from gristmill.serve.mcp.changes import Changes
from gristmill.serve.mcp.hall import Hall
from gristmill.serve.mcp.runs import Runs


def local_caller(_ctx: Ctx) -> str:
    """Everybody is the same caller: right for one user on stdio, wrong as soon as there are two."""
    return "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Everything the handlers need. ``names`` are the servers as configured, for completion."""

    hall: Hall
    instructions: str
    names: tuple[str, ...] = ()
    caller: Callable[[Ctx], str] = local_caller
    runs: Runs = field(default_factory=Runs)
    changes: Changes = field(default_factory=Changes)

    async def close(self) -> None:
        """End every run and every listener."""
        await self.changes.close()
        await self.runs.close()
