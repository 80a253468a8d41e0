"""One child of the template, leased from the pool: runs jobs under the host's clock and reports how they ended."""

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio

from gristmill.errors import SandboxCrashed
from gristmill.events import Emit, OutputWritten
from gristmill.model import Handler, Isolation, Limits, Report, State
from gristmill.sandbox.base import NotBegun, SandboxJob
from gristmill.sandbox.jails.disk_watch import DiskWatch
from gristmill.sandbox.jails.idle_session import IdleSession, interrupt_process
from gristmill.sandbox.jails.jail_handles import JailHandles
from gristmill.sandbox.jails.session_processes import SessionProcesses, send_signal
from gristmill.sandbox.linux import process_tree as tree
from gristmill.sandbox.linux.cgroups import ControlGroup
from gristmill.sandbox.run import frames as bridge
from gristmill.sandbox.run.jail_run import TICK_SECONDS, JailRun, RunTicker
from gristmill.sandbox.run.run_calls import RunCalls
from gristmill.sandbox.run.run_report import RunFindings, build_report
from gristmill.sandbox.run.verdict import UNFIT_REASONS, ChildExit, RunEnding, describe_exit

CORES = os.cpu_count() or 1
DEATH_SECONDS = 5.0
DONE_BYTES = 1 << 17
"""Space in the closing frame for everything but the result."""
FRAME_BYTES = 1 << 16
"""Space in a frame for everything but a result or the arguments of a call."""
PAST_NONCES, MOST_LATE_FRAMES = 8, 100
"""Frames of so many earlier executions are ignored, up to this number each time: a thread that was left behind may send some."""
GRACE_SECONDS = 0.15
"""How long a program may take to stop by itself before it is killed."""
BEGIN_SECONDS = 5.0
"""How long a kept session may take to begin with a program, at most half of what the program may take."""
DISK_LIMITS = frozenset({"workspace_mb", "workspace_files"})
TIME_LIMITS = frozenset({"seconds", "cpu_seconds"})


class Jail:
    """A sealed child that waits for code. Implements ``Sandbox``."""

    def __init__(self, isolation: Isolation, limits: Limits, base_bytes: int, nonce: str = "") -> None:
        """Waits for a child that is ready; a branch of a session says so with the ``nonce`` of the order to branch."""
        self._loop = asyncio.get_running_loop()
        self._isolation: Isolation = isolation
        self._base_bytes = base_bytes
        self._ready_nonce = nonce
        self._run: JailRun | None = None
        self._handles: JailHandles | None = None
        self._killed = False
        self._primed = False
        self._past_nonces: deque[str] = deque(maxlen=PAST_NONCES)
        self._late_frames = 0
        self.lost: str | None = None
        self.state: State = "fresh"
        self.limits = limits
        self.ready: asyncio.Future[int] = self._loop.create_future()
        self.exited: asyncio.Future[ChildExit] = self._loop.create_future()
        self.watch: DiskWatch | None = None
        self.branch: Callable[[Jail, float], Awaitable[Jail]] | None = None
        self.release_to_pool: Callable[[Jail], None] | None = None
        self.scratch: Path | None = None
        self.catalog: str | None = None
        self.modules: str | None = None
        # Of a kept session only:
        self._idle: IdleSession | None = None
        self._processes: SessionProcesses | None = None

    # -- life -----------------------------------------------------------------------------------------------------------

    def attach(self, handles: JailHandles) -> None:
        """Takes over the child's handles."""
        self._handles = handles

    def keep(self, handles: JailHandles, processes: SessionProcesses | None) -> None:
        """Takes over the handles of a process whose interpreter outlives a job; ``processes`` is its pid namespace, if any.

        Raises:
            SandboxCrashed: the process has ended meanwhile.
        """
        try:
            self._idle = IdleSession(handles.pid, handles.pidfd, processes, handles.group, self.give_up)
        except OSError:
            raise SandboxCrashed("the session ended before it was ready") from None
        self._handles, self._processes = handles, processes
        if processes is not None:  # the template reaps only the first process of the namespace, not this worker
            processes.workers[handles.pid] = self
            self._loop.add_reader(handles.pidfd, self._on_worker_exit)

    @property
    def has_started(self) -> bool:
        """True from when the child's handles were taken over until they are released."""
        return self._handles is not None

    @property
    def alive(self) -> bool:
        return self._handles is not None and not self.exited.done() and self.lost is None

    @property
    def busy(self) -> bool:
        """True while a program runs."""
        return self._run is not None

    @property
    def handles(self) -> JailHandles:
        """The child's handles.

        Raises:
            SandboxCrashed: the child has ended.
        """
        if self._handles is None:
            raise SandboxCrashed("the sandbox has ended")
        return self._handles

    @property
    def memory_mb(self) -> float:
        if not self.alive:
            return 0.0
        return max(0, tree.sum_resident_bytes(self.processes()) - self._base_bytes) / (1 << 20)

    def kill(self) -> None:
        """Kills the child and every process in it, now: the kernel kills the whole pid namespace with it."""
        if self._handles is None or self._killed:
            return
        self._killed = True
        send_signal(self._handles.pidfd, signal.SIGKILL)
        if self._processes is not None:
            self._processes.end_worker(self._handles.pid)

    def give_up(self, reason: str) -> None:
        """Ends a kept session that cannot run another program; the caller of the next one learns the ``reason``."""
        self.lost = self.lost or reason
        self.kill()

    def prime(self, modules: str | None) -> None:
        """Lets a fresh child get ready for a program that calls tools from these modules; the child sends no answer."""
        if not self._primed and self.alive:
            self._primed = True
            self.handles.link.send(bridge.encode_frame("prime", modules))

    def release(self) -> ControlGroup | None:
        """Kills the child and closes everything but its group, which may be used again once the child is dead.

        The group of a kept session is not returned: branches of the session may still be in it.
        """
        self.kill()
        handles, self._handles = self._handles, None
        if handles is None:
            return None
        self._set_ending(RunEnding(crash="its session was ended while it ran"))
        handles.link.close()
        handles.output.close()
        if self._idle is not None:
            self._idle.close()
        if self._processes is not None:
            self._loop.remove_reader(handles.pidfd)
        os.close(handles.pidfd)
        return handles.group if self._processes is None else None

    async def close(self) -> None:
        """Ends the jail and every process in it."""
        if self.release_to_pool is not None:
            self.release_to_pool(self)

    async def fork(self, seconds: float) -> "Jail":
        """Branches a kept interpreter; both continue independently. A session that has not done so in ``seconds`` is given up.

        Raises:
            SandboxCrashed: it has ended, is busy, is of a level that cannot fork, or was given up.
        """
        if self.branch is None or self.busy or not self.alive:
            raise SandboxCrashed("only a kept session that is idle can be forked, and only at the namespaces level")
        self._tidy_up()
        if not self.alive:
            raise SandboxCrashed(f"the session has ended: {self.lost}")
        try:
            return await self.branch(self, seconds)
        finally:
            self.rest()

    def rest(self) -> None:
        """Stops a kept session until its next execution; another child is killed after its only one."""
        if self._idle is not None and self.alive:
            self._idle.stop()

    def resume(self) -> None:
        """Lets a kept session continue that was stopped between two executions."""
        if self._idle is not None:
            self._idle.resume()

    def check_idle(self) -> None:
        """Gives up a session that is stopped between two executions and runs all the same."""
        if self._idle is not None and self.alive:
            self._idle.check_woken()

    def _tidy_up(self) -> None:
        if self._idle is not None and self.alive:
            self._idle.tidy_up()

    def on_first_process_exit(self, exit_: ChildExit) -> None:
        """Handles the exit of the child that the template forked; the other processes of its namespace have ended with it."""
        if self._processes is not None:
            self._processes.end(exit_)
        self.on_exit(exit_)

    def on_exit(self, exit_: ChildExit) -> None:
        """Handles the exit of the child."""
        if not self.exited.done():
            self.exited.set_result(exit_)
        # A program that the host is stopping may end by the very signal that asks it to stop.
        limit = self._run.stopping if self._run else None
        self.lost = self.lost or (f"its last program was ended at its limit {limit}" if limit else describe_exit(exit_))
        if not self.ready.done() and self._handles is not None:
            self._handles.link.poll()  # its last frames may have arrived together with the news of its exit
        if not self.ready.done():
            self.ready.set_exception(SandboxCrashed(f"the sandbox ended before it was ready: {describe_exit(exit_)}"))
            self.ready.exception()  # retrieved here in case the caller has given up already
        self._set_ending(RunEnding(limit=limit, crash=describe_exit(exit_)))

    def _on_worker_exit(self) -> None:
        handles, processes = self.handles, self._processes
        self._loop.remove_reader(handles.pidfd)
        assert processes is not None
        processes.workers.pop(handles.pid, None)
        if not processes.kill_strays():
            send_signal(processes.init_pidfd, signal.SIGKILL)
        if processes.workers:  # without workers the first process ends by itself and reports how
            self.on_exit(ChildExit(status=-signal.SIGKILL, cpu_seconds=0.0, rss_bytes=0))

    # -- one run --------------------------------------------------------------------------------------------------------

    async def run(self, job: SandboxJob, call: Handler, emit: Emit) -> Report:
        """Runs one program until it ends, meets a limit or is cancelled.

        Raises:
            NotBegun: this is a kept session that cannot run another program.
        """
        handles = self.handles
        self._tidy_up()
        if self.lost is not None and self.state == "kept":
            raise NotBegun(self.lost)
        run = self._order_run(job, call, emit, handles)
        clock = self._loop.call_later(max(0.0, job.limits.seconds - job.spent_seconds), self._stop_for_limit, "seconds")
        ticker = RunTicker(self._loop, self._watch_run)
        try:
            ending = await run.ending
        except asyncio.CancelledError:
            # The canceller may cancel repeatedly, as anyio's scopes do: the stop is shielded until it is done.
            with anyio.CancelScope(shield=True):
                await self._stop_cancelled_run(run)
            raise
        finally:
            clock.cancel()
            ticker.stop()
            self._run = None
            run.calls.close("the execution has ended")
            self.rest()
        await run.calls.wait_until_cancelled()
        if not run.begun:
            self.give_up(ending.crash or "it did not begin with the next program")
            raise NotBegun(self.lost or "")
        if self.watch is not None and ending.done is not None and (limit := await self.watch.look_after_run()):
            # Files without a name would stay as long as the interpreter: it is ended.
            ending = RunEnding(limit=limit, crash="it was killed")
        return await self._report(run, ending, handles)

    def _order_run(self, job: SandboxJob, call: Handler, emit: Emit, handles: JailHandles) -> JailRun:
        """Sends the program to the child. A kept session answers before it begins, since its last program may have broken it."""
        limits, kept = job.limits, self.state == "kept"
        calls = RunCalls(job, call, emit, handles.link.send)
        run = self._run = JailRun(job=job, calls=calls, emit=emit, ending=self._loop.create_future(), begun=not kept)
        self._past_nonces.append(run.nonce)
        self._late_frames = 0
        handles.output.set_kept_bytes(limits.output_bytes)
        if kept and self._idle is not None:
            handles.output.reset()
            run.counts_orphans = self._idle.is_alone()
            run.cpu_before = self._idle.get_cpu_seconds(with_orphans=run.counts_orphans)
        handles.link.reader.frame_limit = max(limits.result_bytes, limits.call_bytes) + FRAME_BYTES
        self.modules = f"{self.catalog}/{job.modules}" if self.catalog and job.modules else None
        order = (
            run.nonce,
            job.code,
            job.context,
            limits.result_bytes,
            limits.call_bytes,
            self.modules,
            kept,
            *([job.names] if job.names else []),
        )
        run.clock_before = tree.read_cpu_clock(handles.pid)
        handles.link.send(bridge.encode_frame("run", *order))
        self.resume()  # after the order is sent: the process then wakes up once, not twice
        return run

    def on_message(self, message: bridge.Message, length: int) -> None:
        """Handles a frame from the child."""
        run = self._run
        if isinstance(message, bridge.ReadyFrame | bridge.FailedFrame):
            self._on_ready(message)
        elif run is not None and message.nonce == run.nonce and not run.ending.done():
            self._on_run_message(message, length, run)
        elif message.nonce in self._past_nonces and self._late_frames < MOST_LATE_FRAMES:
            self._late_frames += 1
        else:
            self.on_end("a message of another execution")

    def _on_ready(self, message: bridge.ReadyFrame | bridge.FailedFrame) -> None:
        if self.ready.done():
            self.on_end("a message out of turn")
        elif isinstance(message, bridge.FailedFrame):
            self.ready.set_exception(SandboxCrashed(message.message))
        elif message.nonce != self._ready_nonce:
            self.on_end("a message of another execution")
        else:
            self.ready.set_result(message.pid)

    def _on_run_message(self, message: bridge.RunFrame, length: int, run: JailRun) -> None:
        match message:
            case bridge.CallFrame() if run.begun:
                if limit := run.calls.begin(message, length):
                    self._stop_for_limit(limit)
            case bridge.AbandonFrame() if run.begun:
                run.calls.abandon(message)
            case bridge.DoneFrame() if run.begun:
                # Our guest keeps to this limit by itself; a hostile one does not.
                too_much = length > run.job.limits.result_bytes + DONE_BYTES
                self._set_ending(RunEnding(done=message, limit=run.stopping or ("result_bytes" if too_much else None)))
            case bridge.BegunFrame() if not run.begun:
                run.begun = True
            case bridge.UnfitFrame() if not run.begun:
                self._set_ending(RunEnding(crash=UNFIT_REASONS[message.reason]))
            case _:
                self.on_end("a message out of turn")

    def on_end(self, violation: str | None) -> None:
        """Handles a closed socket or a broken protocol. How the child ended is reported by ``on_exit``."""
        if self._handles is None and not self.ready.done():
            why = f"protocol violation: {violation}" if violation else "it may have no process left to use"
            self.ready.set_exception(SandboxCrashed(f"the session could not be forked: {why}"))
        if violation:
            self._set_ending(RunEnding(crash=f"protocol violation: {violation}"))
            self.give_up(f"protocol violation: {violation}")
        elif self._handles is not None:
            # It is ending, or has closed the socket: kill only this process; the session's first process reports the cause.
            send_signal(self._handles.pidfd, signal.SIGKILL)

    def _set_ending(self, ending: RunEnding) -> None:
        if self._run is not None and not self._run.ending.done():
            self._run.calls.close("the execution has ended")
            self._run.ending.set_result(ending)

    def _stop_for_limit(self, limit: str) -> None:
        """Ends the run because of a limit: a session is asked to stop first, so that its state may survive, and so is a program
        that took too long, so that it can say at which line it was."""
        run = self._run
        if run is None or self._handles is None or run.stopping:
            return
        run.stopping = limit
        self._note_cpu(run, self._handles)  # its process may be gone when the report is written
        # A program that fills the disk or the memory gets no time to go on with it.
        if not run.begun or limit in DISK_LIMITS or (self._idle is None and limit not in TIME_LIMITS):
            self._end_by_force()
            return
        run.calls.close(f"the execution is ended at its limit {limit}")  # the program need not wait for answers
        interrupt_process(self._handles.pidfd)
        self._loop.call_later(GRACE_SECONDS, self._end_by_force_if_running, run)

    def _end_by_force_if_running(self, run: JailRun) -> None:
        if self._run is run:
            self._end_by_force()

    def _end_by_force(self) -> None:
        limit = self._run.stopping if self._run else None
        self.give_up(f"its last program did not stop by itself at its limit {limit}" if limit else "it was killed")
        self._set_ending(RunEnding(limit=limit, crash="it was killed"))

    async def _stop_cancelled_run(self, run: JailRun) -> None:
        """Stops a run whose caller has gone: a session gets a moment to stop by itself, everything else is killed now."""
        if self._idle is None or not self.alive:
            self.kill()
            return
        run.ending = self._loop.create_future()
        self._run = run
        run.calls.close("the execution was cancelled")
        self._idle.interrupt()
        _, late = await asyncio.wait([run.ending], timeout=GRACE_SECONDS)
        self._run = None
        if late:
            self.give_up("its last program was cancelled and did not stop by itself")

    # -- what the host watches ------------------------------------------------------------------------------------------

    def processes(self) -> list[int]:
        """Lists the host pids of all processes in the jail."""
        handles = self._handles
        if handles is None:
            return []
        others = self._processes.workers.keys() if self._processes else ()
        return [handles.pid, *tree.list_descendants(handles.pid, except_for=frozenset(others))]

    def _watch_run(self) -> bool:
        """Reads the output and checks the limits of the run in progress; returns True when the output pipe was full."""
        run, handles = self._run, self._handles
        if run is None or handles is None:
            return False
        text, more = handles.output.read()
        if text:
            run.emit(OutputWritten(execution=run.job.execution, text=text))
        if self._processes is not None and len(self._processes.workers) > 1:
            self._processes.check_idle_workers(handles.pid)
        if not run.begun and time.perf_counter() - run.started > min(BEGIN_SECONDS, run.job.limits.seconds / 2):
            self._set_ending(RunEnding(crash="it did not begin with the next program"))
        elif limit := self._find_exceeded_limit(run, handles):
            self._stop_for_limit(limit)
        return more

    def _find_exceeded_limit(self, run: JailRun, handles: JailHandles) -> str | None:
        limits = run.job.limits
        # Before that, all cores together cannot have spent as much: a look at every process costs more than a short run.
        if (time.perf_counter() - run.started) * CORES >= limits.cpu_seconds and self._count_cpu(run) > limits.cpu_seconds:
            return "cpu_seconds"
        # Version 1 kills one process of the group and lets the others continue; without a cgroup only this check limits memory.
        if handles.group is not None:
            too_much = handles.group.was_out_of_memory()
        else:
            too_much = tree.is_over_memory(self.processes(), limits.memory_mb << 20, base=self._base_bytes)
        if too_much:
            return "memory_mb"
        # At this level the user's other processes count for the rlimit too, so it cannot be set, and a program has only threads.
        if handles.group is None and self._isolation == "landlock" and tree.count_threads(handles.pid) > limits.processes + 1:
            return "processes"
        return self.watch() if self.watch else None

    def _count_cpu(self, run: JailRun) -> float:
        """Returns the CPU seconds of this run: of all its processes, and of those that have ended."""
        pids = self.processes()
        if run.counts_orphans and self._processes is not None:
            pids.append(self._processes.init_pid)  # the kernel adds the time of an orphan to the process that reaps it
        return tree.sum_cpu_seconds(pids) - run.cpu_before

    def _note_cpu(self, run: JailRun, handles: JailHandles) -> None:
        """Notes the CPU seconds of the run: of its processes, if it was long enough for a look at them, or of the first one."""
        own = tree.read_cpu_clock(handles.pid) - run.clock_before
        is_long = time.perf_counter() - run.started > TICK_SECONDS
        run.cpu_seconds = max(run.cpu_seconds, own, self._count_cpu(run) if is_long else 0.0)

    # -- after a run ----------------------------------------------------------------------------------------------------

    async def _report(self, run: JailRun, ending: RunEnding, handles: JailHandles) -> Report:
        seconds = time.perf_counter() - run.started
        exit_, out_of_memory = None, False
        if self._handles is not None:
            self._note_cpu(run, handles)
        # Otherwise the jail was released meanwhile, and its exit is not reported.
        if ending.done is None and self._handles is not None:
            out_of_memory = handles.group is not None and handles.group.was_out_of_memory()
            self.kill()
            # A process that the kernel cannot end at once is dead for its caller all the same; the pool waits for it.
            await asyncio.wait([self.exited], timeout=DEATH_SECONDS)
            exit_ = self.exited.result() if self.exited.done() else None
            if exit_ is not None and self.state != "kept":
                run.cpu_seconds = max(run.cpu_seconds, exit_.cpu_seconds)
        state, self.state = self.state, "kept"
        text, _ = handles.output.read()
        if text:
            run.emit(OutputWritten(execution=run.job.execution, text=text))
        found = RunFindings(
            isolation=self._isolation, state=state, seconds=seconds, cpu_seconds=run.cpu_seconds, out_of_memory=out_of_memory,
            peak_bytes=handles.measure_peak_bytes(exit_, self._base_bytes),
        )  # fmt: skip
        return build_report(run, ending, handles.output, found)
