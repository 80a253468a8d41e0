"""The processes of a kept session and of its branches: they share a pid namespace, yet each worker can be stopped alone."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gristmill.sandbox.linux import process_tree as tree
from gristmill.sandbox.run.verdict import ChildExit

ROUNDS = 20
"""How often to look for newly forked processes before the whole namespace is killed."""


class SessionWorker(Protocol):
    """The interpreter of a session or of one of its branches."""

    def on_exit(self, exit_: ChildExit) -> None:
        """Handles the end of the whole namespace."""
        ...

    def check_idle(self) -> None:
        """Gives the worker up if it should be stopped and runs all the same."""
        ...


@dataclass(slots=True)
class SessionProcesses:
    """One pid namespace: its first process, which runs no code, and the workers in it by host pid."""

    init_pidfd: int
    init_pid: int
    init: tree.TreeWatch
    on_ended: Callable[[], None] = lambda: None
    """Is called once, when no process is left in the namespace."""
    workers: dict[int, SessionWorker] = field(default_factory=dict[int, SessionWorker])

    def find_new_worker(self, inner_pid: int) -> int | None:
        """Returns the host pid of a process of the namespace; None when there is none, or when it is a worker already."""
        for pid in tree.list_descendants(self.init_pid):
            if tree.read_inner_pid(pid) == inner_pid:
                return None if pid in self.workers else pid
        return None

    def end_worker(self, worker: int) -> None:
        """Kills one worker and the processes it started. With the last worker the whole namespace is killed."""
        self.workers.pop(worker, None)
        if not self.workers:
            send_signal(self.init_pidfd, signal.SIGKILL)
            return
        _kill_process(worker)
        if not self.kill_strays():
            send_signal(self.init_pidfd, signal.SIGKILL)

    def end(self, exit_: ChildExit) -> None:
        """Tells the workers that the namespace has ended, and closes the handles on it."""
        if self.init_pidfd < 0:
            return
        os.close(self.init_pidfd)
        self.init.close()
        self.init_pidfd = -1
        workers = list(self.workers.values())
        self.workers.clear()
        for worker in workers:
            worker.on_exit(exit_)
        self.on_ended()

    def check_idle_workers(self, running: int) -> None:
        """Checks the other workers while one runs: a program can wake the branches that share its namespace."""
        for pid, worker in list(self.workers.items()):
            if pid != running:
                worker.check_idle()

    def kill_strays(self) -> bool:
        """Kills every process that belongs to no worker; returns False when new ones keep appearing."""
        return _kill_descendants(self.init_pid, frozenset(self.workers))

    def kill_strays_of(self, worker: int) -> bool:
        """Kills the processes that ``worker`` has left running or orphaned; returns False when new ones keep appearing."""
        return _kill_descendants(worker, frozenset(self.workers)) and self.kill_strays()


def _kill_descendants(pid: int, spared: frozenset[int]) -> bool:
    killed: set[int] = set()
    for _ in range(ROUNDS):
        # Processes already killed may take a moment to vanish; only new ones are a reason to look again.
        newcomers = set(tree.list_descendants(pid, except_for=spared)) - killed
        if not newcomers:
            return True
        for stray in newcomers:
            _kill_process(stray)
        killed |= newcomers
    return False


def send_signal(pidfd: int, number: int) -> None:
    """Sends a signal to a process that may have ended."""
    if pidfd < 0:
        return
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        pass


def _kill_process(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
