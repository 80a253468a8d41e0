"""One child of the template, ours for now: runs jobs under the host's clock and tells how they ended."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from dataclasses import field
from pathlib import Path

import anyio

from gristmill.errors import SandboxCrashed
from gristmill.events import Emit, OutputWritten
from gristmill.model import Handler, Isolation, Limits, Report, State, Usage
from gristmill.sandbox.base import Job
from gristmill.sandbox.linux import process_tree as tree
from gristmill.sandbox.linux.cgroups import Group
from gristmill.sandbox.pool.session_processes import Family, send
from gristmill.sandbox.pool.template_process import Exit
from gristmill.sandbox.run import frames as bridge
from gristmill.sandbox.run.captured_output import Output
from gristmill.sandbox.run.run_calls import Calls
from gristmill.sandbox.run.verdict import Ending, how, judge
from gristmill.values import dataclass

TICK_SECONDS, BUSY_TICK_SECONDS = 0.025, 0.002
CORES = os.cpu_count() or 1
DEATH_SECONDS = 5.0
DONE_BYTES = 1 << 17
"""Room in the closing frame for everything but the result."""
GRACE_SECONDS = 0.15
"""How long a kept session may take to stop by itself before it is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handles:
    """The kernel objects of a child: where it speaks, prints, lives and is counted."""

    link: bridge.Link
    output: Output
    pidfd: int
    pid: int
    group: Group | None
    family: Family | None = None
    watch: tree.Watch | None = None


@dataclass(slots=True, kw_only=True)
class Run:
    """The run under way."""

    job: Job
    calls: Calls
    emit: Emit
    ending: asyncio.Future[Ending]
    started: float = field(default_factory=time.perf_counter)
    cpu_before: float = 0.0
    stopping: str | None = None


class Jail:
    """A sealed child that waits for code. Implements ``Sandbox``."""

    def __init__(self, isolation: Isolation, limits: Limits, base_bytes: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._isolation: Isolation = isolation
        self._base_bytes = base_bytes
        self._run: Run | None = None
        self._handles: Handles | None = None
        self._frozen = False
        self._killed = False
        self._cpu_seen = 0.0
        self.state: State = "fresh"
        self.limits = limits
        self.ready: asyncio.Future[int] = self._loop.create_future()
        self.exited: asyncio.Future[Exit] = self._loop.create_future()
        self.watch: Callable[[], str | None] | None = None
        self.branch: Callable[[Jail], Awaitable[Jail]] | None = None
        self.bury: Callable[[Jail], None] | None = None
        self.scratch: Path | None = None
        self.catalog: str | None = None
        self.modules: str | None = None
        self._primed = False
        self._untidy = False

    # -- life -----------------------------------------------------------------------------------------------------------

    def attach(self, handles: Handles) -> None:
        """Take over the child's handles."""
        self._handles = handles
        if handles.family is not None:  # the template reaps the namespace, not this one process of it
            self._loop.add_reader(handles.pidfd, self._worker_gone)

    @property
    def alive(self) -> bool:
        return self._handles is not None and not self.exited.done()

    @property
    def busy(self) -> bool:
        """True while a program runs."""
        return self._run is not None

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
        return max(0, tree.resident_bytes(self.processes()) - self._base_bytes) / (1 << 20)

    def kill(self) -> None:
        """End it and everything in it, now: the kernel takes a whole pid namespace along."""
        if self._handles is None:
            return
        if self._handles.family is None:
            if self._killed:
                return
            self._killed = True
        else:
            self._handles.family.end_worker(self._handles.pid)
        send(self._handles.pidfd, signal.SIGKILL)

    def prime(self, modules: str | None) -> None:
        """Let a fresh child get ready for a program that calls tools from these modules; it answers nothing."""
        if not self._primed and self.alive:
            self._primed = True
            self.handles.link.send(bridge.encode("prime", modules))

    def release(self) -> Group | None:
        """Kill it and let go of everything but the group, which may be used again once the child is dead."""
        self.kill()
        handles, self._handles = self._handles, None
        if handles is None:
            return None
        self._finish(Ending(crash="its session was ended while it ran"))
        handles.link.close()
        handles.output.close()
        if handles.watch is not None:
            handles.watch.close()
        if handles.family is not None:
            self._loop.remove_reader(handles.pidfd)
        os.close(handles.pidfd)
        return handles.group

    async def close(self) -> None:
        """End it and everything in it."""
        if self.bury is not None:
            self.bury(self)

    async def fork(self) -> "Jail":
        """Branch a kept interpreter; both go on independently.

        Raises:
            SandboxCrashed: it is gone, busy, or of a level that cannot fork.
        """
        self._tidy()
        if self.branch is None or self.busy or not self.alive:
            raise SandboxCrashed("only a kept session that is idle can be forked, and only at the namespaces level")
        return await self.branch(self)

    def on_exit(self, exit_: Exit) -> None:
        """The kernel has buried it."""
        if not self.exited.done():
            self.exited.set_result(exit_)
        if not self.ready.done() and self._handles is not None:
            self._handles.link.poll()  # its last words may have arrived with the news of its end
        if not self.ready.done():
            self.ready.set_exception(SandboxCrashed(f"the sandbox ended before it was ready: {how(exit_)}"))
            self.ready.exception()  # whoever asked for it may have given up already
        self._finish(Ending(crash=how(exit_)))

    def _worker_gone(self) -> None:
        handles = self.handles
        self._loop.remove_reader(handles.pidfd)
        assert handles.family is not None
        handles.family.workers.discard(handles.pid)
        if handles.family.workers:
            self.on_exit(Exit(status=-signal.SIGKILL, cpu_seconds=0.0, rss_bytes=0))
        else:
            handles.family.sweep()  # alone now, its first process ends by itself and says how

    # -- one run --------------------------------------------------------------------------------------------------------

    async def run(self, job: Job, call: Handler, emit: Emit) -> Report:
        """Run one program to its end, its limit or our cancellation."""
        handles, limits = self.handles, job.limits
        calls = Calls(job, call, emit, handles.link.send)
        run = self._run = Run(job=job, calls=calls, emit=emit, ending=self._loop.create_future())
        handles.output.keep(limits.output_bytes)
        if self.state == "kept":
            self._tidy()
            handles.output.reset()
            run.cpu_before = self._cpu_seen
            if self._frozen:
                self._frozen = False
                send(handles.pidfd, signal.SIGCONT)
        handles.link.frame_limit = max(limits.result_bytes, min(limits.call_bytes, 1 << 24)) + (1 << 16)
        self.modules = f"{self.catalog}/{job.modules}" if self.catalog and job.modules else None
        handles.link.send(bridge.encode("run", job.code, job.context, limits.result_bytes, self.modules))
        clock = self._loop.call_later(limits.seconds, self._exceed, "seconds")
        ticker = _Ticker(self._loop, self._tick)
        try:
            ending = await run.ending
        except asyncio.CancelledError:
            # Whoever cancels may do so again, as anyio's scopes do: the stop goes on until it is done.
            with anyio.CancelScope(shield=True):
                await self._stop(run)
            raise
        finally:
            clock.cancel()
            ticker.stop()
            self._run = None
            calls.stop()
        report = await self._report(run, ending, handles)
        if handles.family is not None:
            self._untidy = True
            self._loop.call_soon(self._tidy)  # our caller need not wait for it; the next run does
        return report

    def on_message(self, message: bridge.Message, length: int) -> None:
        """A frame from the child."""
        run = self._run
        match message:
            case bridge.Call() if run is not None:
                # One that came right behind the closing frame reaches no tool.
                if not run.ending.done() and (limit := run.calls.begin(message, length)):
                    self._exceed(limit)
            case bridge.Done() if run is not None:
                # The guest keeps this limit by itself; a hostile one does not.
                too_much = length > run.job.limits.result_bytes + DONE_BYTES
                self._finish(Ending(done=message, limit=run.stopping or ("result_bytes" if too_much else None)))
            case bridge.Ready() if not self.ready.done():
                self.ready.set_result(message.pid)
            case bridge.Failed() if not self.ready.done():
                self.ready.set_exception(SandboxCrashed(message.message))
            case _:
                # A call after the end, a second "ready": nothing of ours says that at this point.
                self.on_end("a message out of turn")

    def on_end(self, violation: str | None) -> None:
        """The socket is closed, or the child broke the protocol. How it ended, ``on_exit`` will tell."""
        if self._handles is None and not self.ready.done():
            self.ready.set_exception(SandboxCrashed("the session could not be forked: it may have no process left to use"))
        if violation:
            self._finish(Ending(crash=f"protocol violation: {violation}"))
            self.kill()
        elif self._handles is not None:
            # It is dying of something, or has hung up on us: not the whole family, whose first process is to tell of what.
            send(self._handles.pidfd, signal.SIGKILL)

    def _finish(self, ending: Ending) -> None:
        if self._run is not None and not self._run.ending.done():
            self._run.ending.set_result(ending)

    def _exceed(self, limit: str) -> None:
        """End the run because of a limit: a session is asked to stop first, so that its state may live on."""
        run, handles = self._run, self._handles
        if run is None or handles is None or run.stopping:
            return
        run.stopping = limit
        if handles.family is None:
            self._end_by_force()
        else:
            send(handles.pidfd, signal.SIGINT)
            self._loop.call_later(GRACE_SECONDS, self._end_by_force_if, run)

    def _end_by_force_if(self, run: Run) -> None:
        if self._run is run:
            self._end_by_force()

    def _end_by_force(self) -> None:
        self.kill()
        self._finish(Ending(limit=self._run.stopping if self._run else None, crash="it was killed"))

    async def _stop(self, run: Run) -> None:
        """The caller has gone: a session gets its moment to stop, everything else ends now."""
        handles = self._handles
        if handles is None or handles.family is None or not self.alive:
            self.kill()
            return
        run.ending = self._loop.create_future()
        self._run = run
        send(handles.pidfd, signal.SIGINT)
        _, late = await asyncio.wait([run.ending], timeout=GRACE_SECONDS)
        self._run = None
        if late:
            self.kill()

    # -- what the host watches ------------------------------------------------------------------------------------------

    def processes(self) -> list[int]:
        """Host pids of everything that runs in it."""
        handles = self._handles
        if handles is None:
            return []
        others = handles.family.workers if handles.family else frozenset[int]()
        return [handles.pid, *tree.descendants(handles.pid, except_for=frozenset(others))]

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
        limits = run.job.limits
        # Before that, all cores together cannot have spent as much: a look at every process costs more than a short run.
        may_be_spent = (time.perf_counter() - run.started) * CORES >= limits.cpu_seconds
        if may_be_spent and tree.cpu_seconds(self.processes()) - run.cpu_before > limits.cpu_seconds:
            return "cpu_seconds"
        # Version 1 kills one process of the group and lets the others go on; without a cgroup nobody else counts.
        if handles.group is not None:
            too_much = handles.group.was_out_of_memory()
        else:
            too_much = tree.exceeds(self.processes(), limits.memory_mb << 20, base=self._base_bytes)
        if too_much:
            return "memory_mb"
        return self.watch() if self.watch else None

    # -- after a run ----------------------------------------------------------------------------------------------------

    async def _report(self, run: Run, ending: Ending, handles: Handles) -> Report:
        seconds = time.perf_counter() - run.started
        exit_, out_of_memory = None, False
        if ending.done is None and self._handles is not None:  # else somebody has let go of it: nobody will tell how it died
            out_of_memory = handles.group is not None and handles.group.was_out_of_memory()
            self.kill()
            async with asyncio.timeout(DEATH_SECONDS):
                exit_ = await asyncio.shield(self.exited)
        text, _ = handles.output.read()
        if text:
            run.emit(OutputWritten(execution=run.job.execution, text=text))
        output, truncated = handles.output.text()
        verdict = judge(ending, run.job.limits, out_of_memory=out_of_memory)
        return Report(
            status=verdict.status,
            output=output,
            truncated=truncated,
            result=ending.done.result if ending.done and verdict.status == "ok" else None,
            error=verdict.error,
            error_type=verdict.error_type,
            limit=verdict.limit,
            usage=Usage(
                seconds=seconds,
                memory_mb=self._peak_mb(handles, exit_),
                calls=run.calls.count,
                call_bytes=run.calls.bytes,
            ),
            tools_called=tuple(run.calls.tools),
            isolation=self._isolation,
            state=self._leave(),
        )

    def _peak_mb(self, handles: Handles, exit_: Exit | None) -> float:
        peak = handles.group.peak_bytes() if handles.group else None
        if peak is None:
            peak = (exit_.rss_bytes if exit_ else tree.peak_bytes(handles.pid)) - self._base_bytes
        return round(max(0, peak) / (1 << 20), 2)

    def _tidy(self) -> None:
        """A kept interpreter keeps its state, not its processes, and nothing of it runs between executions."""
        handles = self._handles
        if not self._untidy or handles is None or handles.family is None or handles.watch is None or not self.alive:
            return
        self._untidy = False
        try:
            self._cpu_seen, threads = handles.watch.cpu_and_threads()
            strays = (handles.watch.children() | handles.family.init.children()) - handles.family.workers
        except ProcessLookupError:
            return  # it ended meanwhile; whoever comes next finds it dead
        if (strays or threads > 1) and not handles.family.end_strays_of(handles.pid):
            self.kill()
        elif threads > 1:
            self._frozen = True
            send(handles.pidfd, signal.SIGSTOP)

    def _leave(self) -> State:
        state, self.state = self.state, "kept"
        return state


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
