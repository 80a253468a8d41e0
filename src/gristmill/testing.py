"""The doubles that our own tests use, public so that yours can: a sandbox without a kernel, and a runtime over it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from gristmill.config.tree import Config
from gristmill.errors import Error, SandboxCrashed, ToolFailed
from gristmill.events import Emit
from gristmill.model import Handler, Isolation, Json, Limits, Report, ToolCall
from gristmill.runtime.build import open_rooms
from gristmill.runtime.open.open_sandboxes import keep_rules
from gristmill.runtime.runtime import Runtime
from gristmill.sandbox.base import Job, Pool, Sandbox
from gristmill.sandbox.pool.kept_interpreters import Kept
from gristmill.upstream.python_functions import Function

Answer = Callable[[Job], Report]
Tools = Callable[..., Awaitable[Json]]
"""Calls a tool: ``await tools("crm.find", q="ann")``; a call that waits for approval answers with a reference to the plan."""
Program = Callable[[Tools], Awaitable[Json]]
"""A program without a sandbox: it calls tools, and what it returns is the result."""


def succeed(_job: Job) -> Report:
    """Every program works and returns nothing."""
    return Report(status="ok")


class FakeSandbox:
    """Runs ``program``, or answers with what ``answer`` says, and remembers its jobs."""

    def __init__(self, answer: Answer = succeed, *, memory_mb: float = 1.0, program: Program | None = None) -> None:
        self._answer, self._program = answer, program
        self.jobs: list[Job] = []
        self.alive = True
        self.memory_mb = memory_mb

    async def run(self, job: Job, call: Handler, emit: Emit) -> Report:  # noqa: ARG002 - the protocol's signature
        """Remember the job and answer."""
        self.jobs.append(job)
        if self._program is None:
            return self._answer(job)
        try:
            return Report(status="ok", result=await self._program(_tools(job, call)))
        except Error as error:
            return Report(status="failed", error=error.message, error_type=type(error).__name__)

    async def fork(self) -> Sandbox:
        """Another one that answers alike."""
        if not self.alive:
            raise SandboxCrashed("the sandbox has ended")
        return FakeSandbox(self._answer, memory_mb=self.memory_mb, program=self._program)

    async def close(self) -> None:
        """Be gone."""
        self.alive = False


def _tools(job: Job, call: Handler) -> Tools:
    numbers = count(1)

    async def tools(key: str, /, **arguments: Json) -> Json:
        result = await call(
            ToolCall(
                id=next(numbers), tool=key, arguments=arguments, execution=job.execution, session=job.session, caller=job.caller,
                tenant=job.tenant,
            )
        )  # fmt: skip
        if result.is_error:
            raise ToolFailed(str(result.value))
        return result.value if result.planned is None else {"$planned": [result.planned]}

    return tools


class FakePool:
    """Leases fakes; ``opened`` lists the sandboxes that were opened for sessions."""

    isolation: Isolation = "namespaces"
    problem: str | None = None

    def __init__(self, answer: Answer = succeed, *, memory_mb: float = 1.0, program: Program | None = None) -> None:
        self._answer, self._memory_mb, self._program = answer, memory_mb, program
        self.opened: list[FakeSandbox] = []

    def states(self) -> dict[str, int]:
        """All of them are kept."""
        return {"waiting": 0, "busy": len(self.opened)}

    @asynccontextmanager
    async def lease(self, limits: Limits) -> AsyncGenerator[Sandbox]:  # noqa: ARG002 - the protocol's signature
        """A fake for one job."""
        sandbox = FakeSandbox(self._answer, memory_mb=self._memory_mb, program=self._program)
        try:
            yield sandbox
        finally:
            await sandbox.close()

    async def open_session(self, limits: Limits, workspace: Path) -> Sandbox:  # noqa: ARG002 - the protocol's signature
        """A fake that is kept."""
        sandbox = FakeSandbox(self._answer, memory_mb=self._memory_mb, program=self._program)
        self.opened.append(sandbox)
        return sandbox

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """There is always room."""
        yield

    async def close(self) -> None:
        """Nothing to end."""


@asynccontextmanager
async def fake_runtime(
    config: Config, pool: FakePool | None = None, *, tools: Mapping[str, Function] | None = None, serving: bool = False
) -> AsyncGenerator[Runtime]:
    """A runtime whose rooms are all real but the sandbox: rules, journal, masks and records work as they do in earnest."""
    fakes = pool or FakePool()

    @asynccontextmanager
    async def sandboxes(config: Config) -> AsyncGenerator[tuple[Pool, Kept]]:
        kept = Kept(fakes, keep_rules(config.sandbox))
        yield fakes, kept
        await kept.close()

    async with open_rooms(config, tools or {}, sandboxes, serving=serving) as rooms:
        yield Runtime(rooms)
