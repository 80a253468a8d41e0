"""The contract of a sandbox backend: a pool leases sandboxes, and a sandbox runs jobs. The hall knows only these protocols."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from gristmill.errors import SandboxCrashed
from gristmill.events import Emit
from gristmill.model import LOCAL_IDENTITY, Handler, Identity, Isolation, Json, Limits, Report


class CallGate(Struct):
    """Tells whether the calls of one run may still leave; the sandbox closes it at the moment when the run ends."""

    closed: bool = False


class NotBegun(SandboxCrashed):
    """A kept sandbox could not begin to run the program, so the program can be run elsewhere; the sandbox has ended."""


class SandboxJob(Struct, frozen=True, kw_only=True):
    """One program to run, with its limits and the values it may use."""

    execution: str
    code: str
    limits: Limits
    context: Mapping[str, Json] = field(default_factory=dict[str, Json])
    session: str | None = None
    identity: Identity = LOCAL_IDENTITY
    modules: str | None = None
    """The folder of typed modules, below the pool's catalogue, that the program imports tools from."""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names that the program uses and does not define, with what they mean to the guest."""
    gate: CallGate = field(default_factory=CallGate)
    spent_seconds: float = 0.0
    """The part of ``limits.seconds`` that was used before the program is run, for example to branch a session."""


class Sandbox(Protocol):
    """A jail that belongs to its leaseholder until it is given back."""

    @property
    def alive(self) -> bool:
        """False once it cannot run another program."""
        ...

    @property
    def lost(self) -> str | None:
        """Why it cannot run another program; None while it can, and when it was closed."""
        ...

    @property
    def memory_mb(self) -> float:
        """The memory that it uses now."""
        ...

    async def run(self, job: SandboxJob, call: Handler, emit: Emit) -> Report:
        """Runs one program until it ends, meets a limit or is cancelled; the report holds the program's exception, if any.

        When it returns or raises, ``job.gate`` is closed: no call of the program can leave any more.

        Raises:
            NotBegun: the sandbox was kept from an earlier program and cannot run another; nothing of this one has run.
        """
        ...

    async def fork(self, seconds: float) -> "Sandbox":
        """Branches a kept interpreter; both continue independently. A sandbox that has not done so in ``seconds`` is given up.

        Raises:
            SandboxError: the sandbox has ended, was given up, or its isolation level cannot fork.
        """
        ...

    async def close(self) -> None:
        """Ends the sandbox and every process in it."""
        ...


class Pool(Protocol):
    """A source of sandboxes."""

    @property
    def isolation(self) -> Isolation:
        """The isolation level in force."""
        ...

    @property
    def problem(self) -> str | None:
        """Why no sandbox is available now, if the pool knows of a reason."""
        ...

    def states(self) -> Mapping[str, int]:
        """Counts the sandboxes by what they do: at least `waiting` for code and `busy` with a program."""
        ...

    def lease(self, limits: Limits) -> AbstractAsyncContextManager[Sandbox]:
        """Leases a fresh sandbox for one job, waiting while all are busy; the sandbox is destroyed afterwards."""
        ...

    async def open_session(self, limits: Limits, workspace: Path) -> Sandbox:
        """Opens a sandbox whose interpreter outlives a job; the caller closes it."""
        ...

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Takes one of the places for executions that run at the same time; places are granted in order of arrival."""
        ...

    async def close(self) -> None:
        """Ends the pool and all its sandboxes."""
        ...


SEALED_LIMITS = (
    "cpu_seconds",
    "cpu_percent",
    "memory_mb",
    "processes",
    "open_files",
    "workspace_mb",
    "workspace_files",
    "file_mb",
)
"""Limits that are in force before the code is known; the host enforces the others while the code runs."""
LIMITS_PER_RUN = frozenset(("cpu_seconds",))
"""Limits of ``SEALED_LIMITS`` that the host enforces alone in a kept sandbox: the kernel would count all its runs together."""


def have_same_seal(one: Limits, other: Limits) -> bool:
    """Returns True when a sandbox sealed for ``one`` can run a job with the limits ``other``."""
    return one is other or not list_changed_sealed_limits(one, other)


def list_changed_sealed_limits(one: Limits, other: Limits) -> list[str]:
    """Lists the sealed limits in which ``one`` and ``other`` differ."""
    return [name for name in SEALED_LIMITS if getattr(one, name) != getattr(other, name)]
