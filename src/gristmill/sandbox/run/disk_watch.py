"""How much a folder on disk holds, looked at while code writes to it: a real disk has no size limit of its own per folder."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from gristmill.model import Limits

EVERY_SECONDS = 0.2
DEPTH = 100
"""Folders nested deeper than this are a way to hide, not to work."""

Processes = Callable[[], list[int]]
"""The processes that may hold files open which no folder lists any more."""


class DiskWatch:
    """Measures a workspace now and then in a thread, and says which limit it broke."""

    def __init__(self, folder: Path, limits: Limits, processes: Processes) -> None:
        self._folder, self._limits, self._processes = folder, limits, processes
        self._broken: str | None = None
        self._next = 0.0
        self._task: asyncio.Task[None] | None = None

    def __call__(self) -> str | None:
        """The broken limit, if the last look found one; starts the next look when it is due."""
        if (self._task is None or self._task.done()) and time.monotonic() >= self._next:
            self._task = asyncio.get_running_loop().create_task(self._look())
        return self._broken

    async def _look(self) -> None:
        started = time.monotonic()
        self._broken = await asyncio.to_thread(exceeded, self._folder, self._limits, self._processes())
        # A large folder takes long to walk: spend at most a tenth of the time on it.
        self._next = time.monotonic() + max(EVERY_SECONDS, 10 * (time.monotonic() - started))


def exceeded(folder: Path, limits: Limits, processes: list[int]) -> str | None:
    """Which workspace limit ``folder`` breaks, or None. Links are not followed; holes in files do not count.

    What cannot be looked into counts as too much: hiding must not pay.
    """
    tally = _Tally(limits)
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            device = os.fstat(top).st_dev
            _walk(top, tally, DEPTH)
        finally:
            os.close(top)
        _unlinked(processes, device, tally)
    except _Broken as broken:
        return str(broken)
    except FileNotFoundError:
        return None  # dropped meanwhile
    return None


class _Broken(Exception):
    """The limit of this name is broken."""


class _Tally:
    def __init__(self, limits: Limits) -> None:
        self._bytes, self._files = limits.workspace_mb << 20, limits.workspace_files

    def add(self, status: os.stat_result) -> None:
        self._bytes -= status.st_blocks * 512
        self._files -= 1
        if self._bytes < 0:
            raise _Broken("workspace_mb")
        if self._files < 0:
            raise _Broken("workspace_files")


def _walk(folder: int, tally: _Tally, depth: int) -> None:
    """By descriptors, so that neither a long path nor a folder swapped for a link leads anywhere else."""
    if depth == 0:
        raise _Broken("workspace_files")
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                tally.add(entry.stat(follow_symlinks=False))
                if not entry.is_dir(follow_symlinks=False):
                    continue
                inner = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError:
                raise _Broken("workspace_mb") from None
            try:
                _walk(inner, tally, depth - 1)
            finally:
                os.close(inner)


def _unlinked(processes: list[int], device: int, tally: _Tally) -> None:
    """Files that were removed while open still take their space."""
    seen: set[int] = set()
    for pid in processes:
        try:
            names = os.listdir(f"/proc/{pid}/fd")
        except OSError:
            continue  # it ended meanwhile
        for name in names:
            try:
                status = os.stat(f"/proc/{pid}/fd/{name}")
            except OSError:
                continue
            if status.st_nlink == 0 and status.st_dev == device and status.st_ino not in seen:
                seen.add(status.st_ino)
                tally.add(status)
