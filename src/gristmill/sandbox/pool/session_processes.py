"""The processes of a kept session and of its branches: they share a pid namespace, yet each can be stopped alone."""

import os
import signal
from dataclasses import dataclass, field

from gristmill.sandbox.linux import process_tree as tree

ROUNDS = 20
"""How often to look for newly forked processes before the whole namespace is given up."""


@dataclass(slots=True)
class Family:
    """One pid namespace: its first process, which runs nothing, and the workers in it by host pid."""

    init_pidfd: int
    init_pid: int
    init: tree.Watch
    workers: set[int] = field(default_factory=set[int])

    def locate(self, inner_pid: int) -> int | None:
        """The host's name for a process of the namespace."""
        for pid in tree.descendants(self.init_pid):
            if tree.inner_pid(pid) == inner_pid:
                return pid
        return None

    def end_worker(self, worker: int) -> None:
        """Kill one worker and what it started. The last one takes the namespace along."""
        self.workers.discard(worker)
        if not self.workers:
            send(self.init_pidfd, signal.SIGKILL)
            return
        _kill(worker)
        if not self.sweep():
            send(self.init_pidfd, signal.SIGKILL)

    def gone(self) -> None:
        """The kernel has buried the namespace."""
        os.close(self.init_pidfd)
        self.init.close()
        self.init_pidfd = -1
        self.workers.clear()

    def sweep(self) -> bool:
        """Kill every process that belongs to no worker; false when new ones keep coming."""
        return _kill_below(self.init_pid, frozenset(self.workers))

    def end_strays_of(self, worker: int) -> bool:
        """Kill what ``worker`` has left running, or let go of; false when new ones keep coming."""
        return _kill_below(worker, frozenset(self.workers)) and self.sweep()


def _kill_below(pid: int, spared: frozenset[int]) -> bool:
    killed: set[int] = set()
    for _ in range(ROUNDS):
        # Those already killed may take a moment to vanish; only newcomers are a reason to look again.
        newcomers = set(tree.descendants(pid, except_for=spared)) - killed
        if not newcomers:
            return True
        for stray in newcomers:
            _kill(stray)
        killed |= newcomers
    return False


def send(pidfd: int, number: int) -> None:
    """Signal a process that may be gone."""
    if pidfd < 0:
        return
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        pass


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
