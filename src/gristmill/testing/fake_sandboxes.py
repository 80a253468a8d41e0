"""Test doubles for Gristmill's own tests and for yours: a sandbox that runs no process, and a runtime that uses it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from gristmill.config.tree import Config
from gristmill.errors import Error, SandboxCrashed, ToolFailed
from gristmill.events import Emit
from gristmill.model import Handler, Isolation, Json, Limits, Report, ToolCall
from gristmill.runtime.build import open_rooms
from gristmill.runtime.open.sandboxes.open_sandboxes import build_keep_rules
from gristmill.runtime.runtime import Runtime
from gristmill.sandbox.base import Pool, Sandbox, SandboxJob
from gristmill.sandbox.pool.kept_interpreters import KeptInterpreters
from gristmill.upstream.python_functions import Function

BuildReport = Callable[[SandboxJob], Report]
CallTool = Callable[..., Awaitable[Json]]
"""Calls a tool: ``await tools("crm.find", q="ann")``; a call that needs approval returns a reference to its plan."""
Program = Callable[[CallTool], Awaitable[Json]]
"""A program that runs without a sandbox: it calls tools, and the value it returns is the result."""


def report_success(_job: SandboxJob) -> Report:
    """Reports success without a result."""
    return Report(status="ok")


class FakeSandbox:
    """A sandbox that runs ``program``, or else reports what ``answer`` returns, and remembers its jobs."""

    def __init__(self, answer: BuildReport = report_success, *, memory_mb: float = 1.0, program: Program | None = None) -> None:
        self._answer, self._program = answer, program
        self.jobs: list[SandboxJob] = []
        self.alive = True
        self.lost: str | None = None
        self.memory_mb = memory_mb

    async def run(self, job: SandboxJob, call: Handler, emit: Emit) -> Report:  # noqa: ARG002 - the protocol's signature
        """Remembers the job, runs the program and reports its result."""
        self.jobs.append(job)
        try:
            return self._answer(job) if self._program is None else await self._run_program(self._program, job, call)
        finally:
            job.gate.closed = True

    async def _run_program(self, program: Program, job: SandboxJob, call: Handler) -> Report:
        try:
            return Report(status="ok", result=await program(_build_tools_function(job, call)))
        except Error as error:
            return Report(status="failed", error=error.message, error_type=type(error).__name__)

    async def fork(self, seconds: float) -> Sandbox:  # noqa: ARG002 - the protocol's signature
        """Returns another fake with the same program and answer."""
        if not self.alive:
            raise SandboxCrashed("the sandbox has ended")
        return FakeSandbox(self._answer, memory_mb=self.memory_mb, program=self._program)

    async def close(self) -> None:
        """Marks the sandbox as ended."""
        self.alive = False


def _build_tools_function(job: SandboxJob, call: Handler) -> CallTool:
    numbers = count(1)

    async def call_tool(key: str, /, **arguments: Json) -> Json:
        result = await call(
            ToolCall(
                id=next(numbers), tool=key, arguments=arguments, execution=job.execution, session=job.session,
                identity=job.identity,
            )
        )  # fmt: skip
        if result.is_error:
            raise ToolFailed(str(result.value))
        return result.value if result.planned is None else {"$planned": [result.planned]}

    return call_tool


class FakePool:
    """A pool that leases fake sandboxes; ``opened`` lists those that were opened for sessions."""

    isolation: Isolation = "namespaces"
    problem: str | None = None

    def __init__(self, answer: BuildReport = report_success, *, memory_mb: float = 1.0, program: Program | None = None) -> None:
        self._answer, self._memory_mb, self._program = answer, memory_mb, program
        self.opened: list[FakeSandbox] = []

    def states(self) -> dict[str, int]:
        """Counts every sandbox opened for a session as busy, and none as waiting."""
        return {"waiting": 0, "busy": len(self.opened)}

    @asynccontextmanager
    async def lease(self, limits: Limits) -> AsyncGenerator[Sandbox]:  # noqa: ARG002 - the protocol's signature
        """Yields a fake for one job."""
        sandbox = FakeSandbox(self._answer, memory_mb=self._memory_mb, program=self._program)
        try:
            yield sandbox
        finally:
            await sandbox.close()

    async def open_session(self, limits: Limits, workspace: Path) -> Sandbox:  # noqa: ARG002 - the protocol's signature
        """Returns a fake that stays open, and adds it to ``opened``."""
        sandbox = FakeSandbox(self._answer, memory_mb=self._memory_mb, program=self._program)
        self.opened.append(sandbox)
        return sandbox

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Yields at once: there is always room."""
        yield

    async def close(self) -> None:
        """Does nothing: a fake pool holds no processes."""


@asynccontextmanager
async def fake_runtime(
    config: Config, pool: FakePool | None = None, *, tools: Mapping[str, Function] | None = None, serving: bool = False
) -> AsyncGenerator[Runtime]:
    """Opens a runtime in which only the sandbox is fake: rules, journal, masks and records are the real ones."""
    fakes = pool or FakePool()

    @asynccontextmanager
    async def open_fake_sandboxes(config: Config) -> AsyncGenerator[tuple[Pool, KeptInterpreters]]:
        kept = KeptInterpreters(fakes, build_keep_rules(config.sandbox))
        yield fakes, kept
        await kept.close()

    async with open_rooms(config, tools or {}, open_fake_sandboxes, serving=serving) as rooms:
        yield Runtime(rooms)
