"""What a process leaves on the machine when it is killed: processes, control groups, mounts."""

import os
from dataclasses import dataclass
from glob import glob
from pathlib import Path

from gristmill.sandbox.linux.dead_groups import GROUP_NAME
from tests.attack.wall import wait_until


def _read_children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return [int(word) for one in threads for word in Path(f"/proc/{pid}/task/{one}/children").read_text().split()]
    except OSError:
        return []


def _read_start(pid: int) -> str | None:
    """Returns the start time of a living process: a number that is used again is not taken for a survivor."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def _find_groups(pids: set[int]) -> set[str]:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    roots = [mount[1] for mount in mounts if mount[2] in ("cgroup", "cgroup2")]
    found = [path for root in roots for depth in ("", "*/", "*/*/") for path in glob(f"{root}/{depth}gristmill-*-*")]
    names = [(path, GROUP_NAME.fullmatch(Path(path).name)) for path in found]
    return {path for path, name in names if name is not None and int(name[1]) in pids}


@dataclass(frozen=True, slots=True)
class Family:
    """A process with everything below it and its control groups, as they are now."""

    processes: frozenset[tuple[int, str]]
    groups: frozenset[str]

    def is_gone(self) -> bool:
        return not any(_read_start(pid) == start for pid, start in self.processes)

    def expect_nothing_left(self, state: Path) -> None:
        """Waits until no process and no group of it is left, and sees that nothing is mounted in its state folder."""
        wait_until(self.is_gone, "every process is gone")
        wait_until(lambda: not any(map(os.path.exists, self.groups)), "every control group is gone", seconds=60)
        assert str(state) not in Path("/proc/self/mounts").read_text()


def find_family(pid: int) -> Family:
    found: set[tuple[int, str]] = set()
    todo = [pid]
    while todo:
        one = todo.pop()
        if (start := _read_start(one)) is not None:
            found.add((one, start))
        todo += _read_children(one)
    return Family(frozenset(found), frozenset(_find_groups({one for one, _ in found})))
