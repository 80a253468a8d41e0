"""Process trees seen from the host: the descendants of a jail's first process, and the resources they use together."""

import os
import time

TICKS = os.sysconf("SC_CLK_TCK")
MOST_PROCESSES = 4_096
_PAGE = 4_096
_STILL_STATES = (b"T", b"Z", b"X")
"""Stopped, and two forms of ended. Not "t", which is stopped by a debugger that may continue it."""


class TreeWatch:
    """One process's files in /proc, kept open: reading them between two executions has to take microseconds only."""

    def __init__(self, pid: int) -> None:
        self._stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._children = os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            os.close(self._stat)
            raise

    def children(self) -> set[int]:
        """The children of its first thread."""
        return {int(word) for word in os.pread(self._children, 4096, 0).split()}

    def cpu_and_threads(self) -> tuple[float, int]:
        """CPU seconds used so far, and the number of threads now."""
        fields = os.pread(self._stat, 4096, 0).rpartition(b")")[2].split()
        return sum(int(field) for field in fields[11:15]) / TICKS, int(fields[17])

    def is_stopped(self) -> bool:
        """Returns whether its first thread is stopped, or has ended."""
        return _get_state(os.pread(self._stat, 4096, 0)) in _STILL_STATES

    def close(self) -> None:
        """Closes the files."""
        os.close(self._stat)
        os.close(self._children)


def are_threads_stopped(pid: int) -> bool:
    """Returns whether every thread of a process is stopped or has ended."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return True  # the process has ended
    stats = (_read_proc_file(f"/proc/{pid}/task/{thread}/stat").encode() for thread in threads)
    return all(_get_state(stat) in _STILL_STATES for stat in stats if stat)


def _get_state(stat: bytes) -> bytes:
    return stat.rpartition(b")")[2].split(None, 1)[0]


def read_host_pid(pidfd: int) -> int:
    """Returns the pid of this process on the host; -1 when the process has ended."""
    fd = os.open(f"/proc/self/fdinfo/{pidfd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        after = os.read(fd, 4096).partition(b"\nPid:")[2]
    finally:
        os.close(fd)
    return int(after.split(None, 1)[0]) if after else -1


def list_children(pid: int) -> list[int]:
    """Lists the direct children of all threads of ``pid``."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += [int(word) for word in _read_proc_file(f"/proc/{pid}/task/{thread}/children").split()]
    except OSError:
        pass  # the process ended meanwhile
    return found


def list_descendants(pid: int, *, except_for: frozenset[int] = frozenset()) -> list[int]:
    """Lists all descendants of ``pid``, without the subtrees of ``except_for``."""
    found: list[int] = []
    todo = [pid]
    while todo and len(found) < MOST_PROCESSES:
        for child in list_children(todo.pop()):
            if child not in except_for:
                found.append(child)
                todo.append(child)
    return found


def sum_cpu_seconds(pids: list[int]) -> float:
    """Sums the CPU time of these processes and of the children they have waited for."""
    return sum(sum(int(field) for field in _read_stat_fields(pid)[11:15]) for pid in pids) / TICKS


def read_cpu_clock(pid: int) -> float:
    """Returns the CPU time of all threads of one process, without its children; 0 where it has ended or the kernel hides it."""
    try:
        return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid(3) numbers the clock of a process
    except OSError:
        return 0.0


def count_threads(pid: int) -> int:
    """Counts the threads of a process."""
    fields = _read_stat_fields(pid)
    return int(fields[17]) if fields else 0


def sum_resident_bytes(pids: list[int]) -> int:
    """Sums the memory of these processes that no file on disk backs. Shared memory counts once per process that maps it."""
    total = 0
    for pid in pids:
        for line in _read_proc_file(f"/proc/{pid}/status").splitlines():
            if line.startswith(("RssAnon", "RssShmem")):
                total += int(line.split()[1]) << 10
    return total


def is_over_memory(pids: list[int], most: int, *, base: int) -> bool:
    """Returns True when these processes use more than ``most`` together, beyond the ``base`` that each got from the template."""
    if sum_resident_bytes(pids) - base * len(pids) <= most:
        return False
    # Shared memory was counted more than once: only now is the exact figure, which is slow to get, worth its cost.
    return sum(_read_proportional_bytes(pid) for pid in pids) > most + base


def _read_proportional_bytes(pid: int) -> int:
    for line in _read_proc_file(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    return 0


def read_peak_bytes(pid: int) -> int:
    """Returns the highest resident memory that one process has had."""
    for line in _read_proc_file(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


def read_inner_pid(pid: int) -> int:
    """Returns the pid of the process in its own pid namespace."""
    for line in _read_proc_file(f"/proc/{pid}/status").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return -1


def _read_stat_fields(pid: int) -> list[str]:
    """Returns the fields of ``stat`` after the name, which may itself hold spaces and parentheses."""
    return _read_proc_file(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _read_proc_file(path: str) -> str:
    """Reads a whole file; returns nothing when its process has ended. It makes no file object, which would cost more than the
    kernel's part: every run is looked at many times a second."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = b"".join(iter(lambda: os.read(fd, _PAGE), b""))  # the kernel returns at most one page per read
        finally:
            os.close(fd)
    except OSError:
        return ""
    return text.decode("utf-8", "replace")
