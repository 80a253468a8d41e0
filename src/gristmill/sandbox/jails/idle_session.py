"""Keeps an idle session still: between two executions its process is stopped, and what a program left running is ended.

The host stops the process from outside (SIGSTOP cannot be caught), so it does not matter what the program left in it.
"""

import asyncio
import signal
from collections.abc import Callable

from gristmill.sandbox.jails.session_processes import SessionProcesses, send_signal
from gristmill.sandbox.linux import process_tree as tree
from gristmill.sandbox.linux.cgroups import ControlGroup

CHECK_SECONDS, MOST_CHECKS = 0.01, 100
"""When, and how often, to check that a session which was told to stop is stopped."""

BREEDING = "its last program left processes that kept starting others"
"""Why a session is given up whose processes cannot all be ended."""


class IdleSession:
    """One kept interpreter, seen from outside. ``processes`` is None at the level at which code cannot start a process.

    ``give_up`` ends the session, with a reason, when it cannot be kept still.
    """

    def __init__(
        self, pid: int, pidfd: int, processes: SessionProcesses | None, group: ControlGroup | None, give_up: Callable[[str], None]
    ) -> None:
        self._pid, self._pidfd, self._processes, self._group, self._give_up = pid, pidfd, processes, group, give_up
        self._loop = asyncio.get_running_loop()
        self._watch = tree.TreeWatch(pid)
        self._cpu_seconds = self._orphans_cpu_seconds = 0.0
        self._must_tidy = False
        self._is_still = False
        self._check: asyncio.TimerHandle | None = None

    def close(self) -> None:
        """Closes the handles: the session has ended."""
        self._cancel_check()
        self._must_tidy = False
        self._watch.close()

    def stop(self) -> None:
        """Stops the session now; what its program left running is ended in the next turn of the event loop."""
        send_signal(self._pidfd, signal.SIGSTOP)
        self._must_tidy = True
        self._loop.call_soon(self.tidy_up)

    def resume(self) -> None:
        """Lets the session continue."""
        self._cancel_check()
        send_signal(self._pidfd, signal.SIGCONT)

    def interrupt(self) -> None:
        """Asks the running program to end, even if it has stopped itself."""
        interrupt_process(self._pidfd)

    def tidy_up(self) -> None:
        """Ends what the last program left running, and checks a little later that the session is stopped."""
        if not self._must_tidy:
            return
        self._must_tidy = False
        if not self._end_leftovers():
            self._give_up(BREEDING)
            return
        if self._group is not None:
            self._group.begin_run()
        send_signal(self._pidfd, signal.SIGSTOP)  # again: a process that is dead by now may have continued it
        self._check = self._loop.call_later(CHECK_SECONDS, self._check_still, MOST_CHECKS)

    def check_woken(self) -> None:
        """Gives up the session if it was stopped and runs all the same: programs can wake the branches of their session."""
        if self._is_still and not self._look_still():
            self._give_up("another branch of it let it run between its executions")

    def is_alone(self) -> bool:
        """Returns whether no branch shares the pid namespace: ended orphans in it were then processes of this session."""
        return self._processes is not None and len(self._processes.workers) == 1

    def get_cpu_seconds(self, *, with_orphans: bool) -> float:
        """Returns the CPU time that earlier programs used, as of the last ``tidy_up``."""
        return self._cpu_seconds + (self._orphans_cpu_seconds if with_orphans else 0.0)

    def _end_leftovers(self) -> bool:
        """Ends the processes that the last program left running; returns False when new ones keep appearing."""
        try:
            self._cpu_seconds, threads = self._watch.cpu_and_threads()
            if self._processes is None:
                return True
            self._orphans_cpu_seconds = self._processes.init.cpu_and_threads()[0]
            strays = (self._watch.children() | self._processes.init.children()) - self._processes.workers.keys()
        except ProcessLookupError:
            return True  # the session has ended meanwhile, which is reported otherwise
        # Processes that a second thread started are not among the children of the first one.
        return not (strays or threads > 1) or self._processes.kill_strays_of(self._pid)

    def _check_still(self, checks: int) -> None:
        self._is_still = self._look_still()
        if self._is_still:
            # Only now can it start no other process: a thread may have been in the middle of a fork when it was told to stop.
            if not self._end_leftovers():
                self._give_up(BREEDING)
            elif self._processes is not None:
                self._processes.check_idle_workers(self._pid)  # its last program may have woken branches until now
            return
        if checks:
            self._check = self._loop.call_later(CHECK_SECONDS, self._check_still, checks - 1)
        else:
            self._give_up("it could not be stopped between two executions")

    def _look_still(self) -> bool:
        """Returns whether every thread of the process is stopped; one that has ended is still, too."""
        try:
            return self._watch.is_stopped() and tree.are_threads_stopped(self._pid)
        except ProcessLookupError:
            return True

    def _cancel_check(self) -> None:
        self._is_still = False
        if self._check is not None:
            self._check.cancel()


def interrupt_process(pidfd: int) -> None:
    """Asks the program that a process runs to end, even if it has stopped itself."""
    send_signal(pidfd, signal.SIGINT)
    send_signal(pidfd, signal.SIGCONT)
