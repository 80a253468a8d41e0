"""Process trees seen from the host: who descends from a jail's first process, and what they use together."""

import os

TICKS = os.sysconf("SC_CLK_TCK")
MOST = 4_096
_PAGE = 4_096


class Watch:
    """One process's files in /proc, kept open: a look between two executions has to cost microseconds."""

    def __init__(self, pid: int) -> None:
        self._stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        self._children = os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY | os.O_CLOEXEC)

    def children(self) -> set[int]:
        """The children of its first thread."""
        return {int(word) for word in os.pread(self._children, 4096, 0).split()}

    def cpu_and_threads(self) -> tuple[float, int]:
        """CPU seconds so far, and how many threads there are now."""
        fields = os.pread(self._stat, 4096, 0).rpartition(b")")[2].split()
        return sum(int(field) for field in fields[11:15]) / TICKS, int(fields[17])

    def close(self) -> None:
        """Let go of the files."""
        os.close(self._stat)
        os.close(self._children)


def host_pid(pidfd: int) -> int:
    """The pid that the host knows this process by; -1 when it is gone."""
    fd = os.open(f"/proc/self/fdinfo/{pidfd}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        after = os.read(fd, 4096).partition(b"\nPid:")[2]
    finally:
        os.close(fd)
    return int(after.split(None, 1)[0]) if after else -1


def children(pid: int) -> list[int]:
    """The direct children of all its threads."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += [int(word) for word in _read(f"/proc/{pid}/task/{thread}/children").split()]
    except OSError:
        pass  # it ended meanwhile
    return found


def descendants(pid: int, *, except_for: frozenset[int] = frozenset()) -> list[int]:
    """Everything below ``pid``, without the subtrees of ``except_for``."""
    found: list[int] = []
    todo = [pid]
    while todo and len(found) < MOST:
        for child in children(todo.pop()):
            if child not in except_for:
                found.append(child)
                todo.append(child)
    return found


def cpu_seconds(pids: list[int]) -> float:
    """CPU time of these processes and of those they have waited for."""
    return sum(sum(int(field) for field in _stat(pid)[11:15]) for pid in pids) / TICKS


def resident_bytes(pids: list[int]) -> int:
    """Memory of these processes that no file on disk stands behind. Shared memory counts for each that has it mapped."""
    total = 0
    for pid in pids:
        for line in _read(f"/proc/{pid}/status").splitlines():
            if line.startswith(("RssAnon", "RssShmem")):
                total += int(line.split()[1]) << 10
    return total


def exceeds(pids: list[int], most: int, *, base: int) -> bool:
    """Whether these processes have more than ``most`` together, beyond ``base`` that each got from the template."""
    if resident_bytes(pids) - base * len(pids) <= most:
        return False
    # Counted twice where processes share memory: only now is the exact, slow figure worth its price.
    return sum(_proportional(pid) for pid in pids) > most + base


def _proportional(pid: int) -> int:
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) << 10
    return 0


def peak_bytes(pid: int) -> int:
    """The high-water mark of one process's resident memory."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) << 10
    return 0


def inner_pid(pid: int) -> int:
    """What the process calls itself in its own pid namespace."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    return -1


def _stat(pid: int) -> list[str]:
    """The fields of ``stat`` after the name, which may hold spaces and parentheses of its own."""
    return _read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def _read(path: str) -> str:
    """All of a file; nothing when its process has ended. Without a file object, which costs more than the kernel's part: every
    run is looked at many times a second."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = b"".join(iter(lambda: os.read(fd, _PAGE), b""))  # the kernel gives no more than a page at once
        finally:
            os.close(fd)
    except OSError:
        return ""
    return text.decode("utf-8", "replace")
