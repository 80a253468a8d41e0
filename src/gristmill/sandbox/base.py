"""The contract of a backend: a pool leases sandboxes, a sandbox runs jobs. The hall knows only these."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import Protocol

from gristmill.events import Emit
from gristmill.model import Handler, Isolation, Json, Limits, Report
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One program to run, and what it may use."""

    execution: str
    code: str
    limits: Limits
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    session: str | None = None
    caller: str = "local"
    tenant: str = "local"
    modules: str | None = None
    """The folder of typed modules, below the pool's catalogue, that the code imports tools from."""


class Sandbox(Protocol):
    """A jail that is ours until we give it back."""

    @property
    def alive(self) -> bool:
        """False once it can run nothing more."""
        ...

    @property
    def memory_mb(self) -> float:
        """What it occupies now."""
        ...

    async def run(self, job: Job, call: Handler, emit: Emit) -> Report:
        """Run one program to its end, its limit or our cancellation; the report is never an exception of the program's."""
        ...

    async def fork(self) -> "Sandbox":
        """Branch a kept interpreter; both go on independently.

        Raises:
            SandboxError: it is gone, or this level cannot fork.
        """
        ...

    async def close(self) -> None:
        """End it and everything in it."""
        ...


class Pool(Protocol):
    """Where sandboxes come from."""

    @property
    def isolation(self) -> Isolation:
        """The level in force."""
        ...

    @property
    def problem(self) -> str | None:
        """Why no sandbox can be had just now, as far as that is known."""
        ...

    def states(self) -> Mapping[str, int]:
        """How many sandboxes are doing what: `waiting` for code and `busy` with some, at least."""
        ...

    def lease(self, limits: Limits) -> AbstractAsyncContextManager[Sandbox]:
        """A fresh sandbox for one job; waits its turn when all are busy, and is destroyed afterwards."""
        ...

    async def open_session(self, limits: Limits, workspace: Path) -> Sandbox:
        """A sandbox whose interpreter outlives a job; the caller closes it."""
        ...

    def turn(self) -> AbstractAsyncContextManager[None]:
        """A place among the executions that may run at the same time, granted in order of arrival."""
        ...

    async def close(self) -> None:
        """End everything."""
        ...


SEALED = ("cpu_seconds", "cpu_percent", "memory_mb", "processes", "open_files", "workspace_mb", "workspace_files", "file_mb")
"""Limits that are in force before the code is known; the others are kept by the host while it runs."""


def same_seal(one: Limits, other: Limits) -> bool:
    """True when a sandbox sealed for ``one`` can run a job of ``other``."""
    return one is other or all(getattr(one, name) == getattr(other, name) for name in SEALED)
