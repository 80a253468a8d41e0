"""One child of the template, leased: runs a job under the host's clock and tells how it ended."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from gristmill.errors import Error, LimitExceeded, SandboxCrashed
from gristmill.events import CallFinished, CallStarted, Emit, OutputWritten
from gristmill.model import Handler, Isolation, Limits, Report, State, Status, ToolCall, ToolResult, Usage
from gristmill.sandbox import bridge
from gristmill.sandbox.base import Job
from gristmill.sandbox.linux import tree
from gristmill.sandbox.linux.cgroups import Group
from gristmill.sandbox.output import Output
from gristmill.sandbox.template import Exit

TICK_SECONDS, BUSY_TICK_SECONDS = 0.025, 0.002
DEATH_SECONDS = 5.0
REFUSED_CALLS = 100
"""Calls past the limit that are answered with an error before the run is ended."""
HINTS = frozenset(("memory_mb", "processes", "open_files", "workspace_mb", "workspace_files", "file_mb", "result_bytes", "calls", "call_bytes"))
"""Limits whose effect only the program sees (an errno, a MemoryError); the others are the host's own findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why a run is over."""

    done: bridge.Done | None = None
    limit: str | None = None
    crash: str | None = None


@dataclass(slots=True, kw_only=True)
class Run:
    """The run under way: what it is, what it used so far, and the future of its ending."""

    job: Job
    call: Handler
    emit: Emit
    ending: asyncio.Future[Ending]
    started: float = field(default_factory=time.perf_counter)
    cpu_before: float = 0.0
    calls: int = 0
    refused: int = 0
    call_bytes: int = 0
    tools: dict[str, None] = field(default_factory=dict[str, None])
    tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    over_limit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Handles:
    """The kernel objects of a child: where it speaks, prints, lives and is counted."""

    link: bridge.Link
    output: Output
    pidfd: int
    pid: int
    group: Group | None


class Jail:
    """A sealed child that waits for code. Implements ``Sandbox``."""

    def __init__(self, isolation: Isolation, limits: Limits, base_bytes: int) -> None:
        self.isolation: Isolation = isolation
        self.limits = limits
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.exited: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.inner_pid = 0
        self.on_watch: Callable[[], str | None] | None = None
        self._base_bytes = base_bytes
        self._loop = asyncio.get_running_loop()
        self._run: Run | None = None
        self._handles: Handles | None = None
        self._state: State = "fresh"

    # -- life -----------------------------------------------------------------------------------------------------------

    def attach(self, handles: Handles) -> None:
        """Take over the child's handles."""
        self._handles = handles

    @property
    def alive(self) -> bool:
        return self._handles is not None and not self.exited.done()

    @property
    def handles(self) -> Handles:
        """The child's handles.

        Raises:
            SandboxCrashed: it is gone.
        """
        if self._handles is None:
            raise SandboxCrashed("the sandbox has ended")
        return self._handles

    @property
    def memory_mb(self) -> float:
        if not self.alive:
            return 0.0
        return max(0, tree.resident_bytes(self._processes()) - self._base_bytes) / (1 << 20)

    def kill(self) -> None:
        """End it and everything in it, now. The kernel takes the whole pid namespace along."""
        if self._handles is not None:
            _signal(self._handles.pidfd, signal.SIGKILL)

    def release(self) -> Group | None:
        """Kill and let go of everything but the group, which may be used again once the child is dead."""
        handles, self._handles = self._handles, None
        if handles is None:
            return None
        handles.link.close()
        _signal(handles.pidfd, signal.SIGKILL)
        os.close(handles.pidfd)
        handles.output.close()
        return handles.group

    async def died(self) -> Exit:
        """Wait until the kernel has buried it."""
        async with asyncio.timeout(DEATH_SECONDS):
            return await asyncio.shield(self.exited)

    def on_exit(self, exit_: Exit) -> None:
        """The template has reaped it."""
        if not self.exited.done():
            self.exited.set_result(exit_)
        self._finish(Ending(crash=_how(exit_)))

    # -- one run --------------------------------------------------------------------------------------------------------

    async def run(self, job: Job, call: Handler, emit: Emit) -> Report:
        """Run one program to its end, its limit or our cancellation."""
        handles, limits = self.handles, job.limits
        run = self._run = Run(job=job, call=call, emit=emit, ending=self._loop.create_future())
        if self._state == "kept":
            handles.output.reset(limits.output_bytes)
            run.cpu_before = tree.cpu_seconds(self._processes())
        handles.link.frame_limit = max(limits.result_bytes, min(limits.call_bytes, 1 << 24)) + (1 << 16)
        handles.link.send(bridge.encode("run", job.code, job.context, limits.result_bytes))
        clock = self._loop.call_later(limits.seconds, self._exceed, "seconds")
        ticker = _Ticker(self._loop, self._tick)
        try:
            ending = await run.ending
        finally:
            clock.cancel()
            ticker.stop()
            self._run = None
            for task in run.tasks:
                task.cancel()
        report = await self._report(run, ending)
        self._state = "kept"
        return report

    def on_message(self, message: bridge.Message, length: int) -> None:
        """A frame from the child."""
        run = self._run
        match message:
            case bridge.Call() if run is not None:
                self._begin_call(run, message, length)
            case bridge.Done() if run is not None:
                self._finish(Ending(done=message))
            case bridge.Ready() if not self.ready.done():
                self.inner_pid = message.pid
                self.ready.set_result(None)
            case bridge.Failed() if not self.ready.done():
                self.ready.set_exception(SandboxCrashed(message.message))
            case _:
                # A call after the end, a second "ready": nothing of ours says that at this point.
                self.on_end("a message out of turn")

    def on_end(self, violation: str | None) -> None:
        """The socket is closed, or the child broke the protocol."""
        if not self.ready.done():
            self.ready.set_exception(SandboxCrashed(violation or "the sandbox ended before it was ready"))
            self.ready.exception()
        self.kill()
        if violation:
            self._finish(Ending(crash=f"protocol violation: {violation}"))
        # Without a violation the reason is how the child ended, which on_exit will tell.

    def _finish(self, ending: Ending) -> None:
        if self._run is not None and not self._run.ending.done():
            self._run.ending.set_result(ending)

    def _exceed(self, limit: str) -> None:
        self.kill()
        self._finish(Ending(limit=limit))

    # -- what the host watches ------------------------------------------------------------------------------------------

    def _processes(self) -> list[int]:
        pid = self.handles.pid
        return [pid, *tree.descendants(pid)]

    def _tick(self) -> bool:
        """Look after the run under way; true when the output pipe was full."""
        run, handles = self._run, self._handles
        if run is None or handles is None:
            return False
        text, more = handles.output.read()
        if text:
            run.emit(OutputWritten(execution=run.job.execution, text=text))
        if limit := self._overused(run, handles):
            self._exceed(limit)
        return more

    def _overused(self, run: Run, handles: Handles) -> str | None:
        processes, limits = self._processes(), run.job.limits
        if tree.cpu_seconds(processes) - run.cpu_before > limits.cpu_seconds:
            return "cpu_seconds"
        if handles.group is None:  # no cgroup counts for us
            own = tree.resident_bytes(processes) - self._base_bytes * len(processes)
            if own > limits.memory_mb << 20:
                return "memory_mb"
        return self.on_watch() if self.on_watch else None

    # -- tool calls -----------------------------------------------------------------------------------------------------

    def _begin_call(self, run: Run, call: bridge.Call, length: int) -> None:
        limits = run.job.limits
        run.call_bytes += length
        limit = "calls" if run.calls >= limits.calls else "call_bytes" if run.call_bytes > limits.call_bytes else None
        if limit:
            self._refuse(run, call.id, limit)
            return
        run.calls += 1
        run.tools[call.tool] = None
        # Identity comes from the channel, never from what the guest says.
        outgoing = ToolCall(
            id=run.calls, tool=call.tool, arguments=call.arguments, positional=tuple(call.positional),
            execution=run.job.execution, session=run.job.session,
        )  # fmt: skip
        run.emit(CallStarted(execution=run.job.execution, call=outgoing.id, tool=call.tool))
        task = self._loop.create_task(self._answer(run, call.id, outgoing))
        run.tasks.add(task)
        task.add_done_callback(run.tasks.discard)

    def _refuse(self, run: Run, number: int, limit: str) -> None:
        run.refused += 1
        run.over_limit = limit
        if run.refused > REFUSED_CALLS:
            self._exceed(limit)
            return
        value = getattr(run.job.limits, limit)
        self._send(bridge.encode("error", number, f"limit.{limit}", f"the limit of {value:,} {limit} for one execution is used up"))

    async def _answer(self, run: Run, number: int, call: ToolCall) -> None:
        error: Error | None = None
        try:
            result = await run.call(call)
        except Error as raised:
            error, result = raised, ToolResult(value=None, is_error=True)
        except Exception as raised:  # a handler's bug is the host's: the code learns its class, never its text
            error, result = Error(f"the tool failed inside the gateway ({type(raised).__name__})"), ToolResult(value=None)
        frame = _error_frame(number, error) if error else _value_frame(number, result)
        run.call_bytes += len(frame)
        if run.call_bytes > run.job.limits.call_bytes:
            self._refuse(run, number, "call_bytes")
        else:
            self._send(frame)
        run.emit(CallFinished(execution=call.execution, call=call.id, tool=call.tool, ok=error is None and not result.is_error))

    def _send(self, frame: bytes) -> None:
        if self._handles is not None:
            self._handles.link.send(frame)

    # -- the report -----------------------------------------------------------------------------------------------------

    async def _report(self, run: Run, ending: Ending) -> Report:
        seconds = time.perf_counter() - run.started
        handles = self.handles
        exit_ = None
        if ending.done is None:
            self.kill()
            exit_ = await self.died()
        text, _ = handles.output.read()
        if text:
            run.emit(OutputWritten(execution=run.job.execution, text=text))
        output, truncated = handles.output.text()
        status, limit, error, kind = self._verdict(run, ending, handles)
        return Report(
            status=status,
            output=output,
            truncated=truncated,
            result=ending.done.result if ending.done and status == "ok" else None,
            error=error,
            error_type=kind,
            limit=limit,
            usage=Usage(
                seconds=seconds,
                cpu_seconds=exit_.cpu_seconds if exit_ else 0.0,
                memory_mb=self._peak_mb(handles, exit_),
                calls=run.calls,
                call_bytes=run.call_bytes,
            ),
            tools_called=tuple(run.tools),
            isolation=self.isolation,
            state=self._state,
        )

    def _verdict(self, run: Run, ending: Ending, handles: Handles) -> tuple[Status, str | None, str | None, str | None]:
        """Status, limit, error text and its kind. What the host saw outranks what the guest says."""
        limit = ending.limit
        if ending.done is None and limit is None and handles.group and handles.group.was_out_of_memory():
            limit = "memory_mb"
        if ending.done is None and limit is None and ending.crash and "SIGXCPU" in ending.crash:
            limit = "cpu_seconds"
        if limit:
            value = getattr(run.job.limits, limit)
            return "limited", limit, f"LimitExceeded: {limit} = {value:g} was exceeded; the run was ended", "LimitExceeded"
        done = ending.done
        if done is None:
            return "crashed", None, f"Crashed: {ending.crash}", "Crashed"
        hint = done.limit if done.limit in HINTS else None
        if done.error is None and hint != "result_bytes":
            return "ok", None, None, None
        if done.error is None:
            return "limited", hint, f"LimitExceeded: {done.result}", "LimitExceeded"
        return "limited" if hint else "failed", hint, done.error, done.error_type

    def _peak_mb(self, handles: Handles, exit_: Exit | None) -> float:
        peak = handles.group.peak_bytes() if handles.group else None
        if peak is None:
            peak = (exit_.rss_bytes if exit_ else tree.peak_bytes(handles.pid)) - self._base_bytes
        return round(max(0, peak) / (1 << 20), 2)


class _Ticker:
    """Calls back every few milliseconds while a run lasts, sooner while the pipe is full. A short run never sees one."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tick: Callable[[], bool]) -> None:
        self._loop, self._tick = loop, tick
        self._handle = loop.call_later(TICK_SECONDS, self._fire)

    def stop(self) -> None:
        self._handle.cancel()

    def _fire(self) -> None:
        busy = self._tick()
        self._handle = self._loop.call_later(BUSY_TICK_SECONDS if busy else TICK_SECONDS, self._fire)


def _value_frame(number: int, result: ToolResult) -> bytes:
    try:
        return bridge.encode("value", number, result.value)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        return bridge.encode("error", number, "upstream.tool_failed", f"the tool's result is not JSON: {error}")


def _error_frame(number: int, error: Error) -> bytes:
    code = f"limit.{error.limit}" if isinstance(error, LimitExceeded) else error.code
    return bridge.encode("error", number, code, error.message)


def _signal(pidfd: int, number: int) -> None:
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        pass  # it was faster


def _how(exit_: Exit) -> str:
    if exit_.status >= 0:
        return f"the process left with exit code {exit_.status} before the program's end"
    try:
        return f"the process was killed by {signal.Signals(-exit_.status).name}"
    except ValueError:
        return f"the process was killed by signal {-exit_.status}"
