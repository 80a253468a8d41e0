"""Removes the control groups that gateways left behind which were killed together with their keepers.

A gateway holds a lock on the folders of its groups. The kernel releases it when the gateway ends, however it ends, and it counts
across containers, where numbers of processes do not.
"""

import fcntl
import os
import re
from collections.abc import Iterable, Sequence

from gristmill.sandbox.linux.group_folders import remove_group_trees

GROUP_NAME = re.compile(r"gristmill-(\d+)-\d+(?:-\d+)?")
MOST_SWEPT = 1_000
"""How many folders one start removes in each hierarchy: a start must not take long."""


def lock_groups(folders: Sequence[str]) -> tuple[int, ...] | None:
    """Locks the folders until the returned descriptors are closed; None if another gateway has taken one of them for dead."""
    locks: list[int] = []
    try:
        for folder in folders:
            locks.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        if all(os.path.samestat(os.fstat(lock), os.stat(folder)) for lock, folder in zip(locks, folders, strict=True)):
            return tuple(locks)
    except OSError:
        pass
    release_locks(locks)
    return None


def release_locks(locks: Iterable[int]) -> None:
    """Closes the descriptors that ``lock_groups`` returned."""
    for lock in locks:
        os.close(lock)


def sweep_dead_groups(parents: Iterable[str]) -> None:
    """Removes the groups of dead gateways below ``parents``. What cannot be removed stays for the next start."""
    for parent in dict.fromkeys(parents):
        try:
            names = [name for name in os.listdir(parent) if _is_of_another_process(name)]
        except OSError:
            continue
        for name in names[:MOST_SWEPT]:
            _remove_if_unlocked(f"{parent}/{name}")


def _is_of_another_process(name: str) -> bool:
    """Whether the process that made the group has ended, as far as can be seen from here. Early versions hold no lock.

    Our own number may be that of a dead gateway too: in a container it is often 1. Then the lock alone decides.
    """
    found = GROUP_NAME.fullmatch(name)
    return found is not None and (int(found[1]) == os.getpid() or not os.path.exists(f"/proc/{found[1]}"))


def _remove_if_unlocked(folder: str) -> None:
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_group_trees([folder])
    except OSError:
        return  # it is in use
    finally:
        os.close(handle)
