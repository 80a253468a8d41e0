"""Measures how much a folder on disk holds while code writes to it: a real disk has no size limit per folder."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from gristmill.model import Limits
from gristmill.sandbox.jails.unlinked_files import list_unlinked_sizes

EVERY_SECONDS = 0.2
UNSEEN_BYTES = 16 << 20
"""How much may be written since the last measurement before the end of a run is worth another one."""
MOST_DEPTH = 100
"""Folders nested deeper than this count as too many files: no program needs them, but they could hide files."""

ListProcesses = Callable[[], list[int]]
"""Lists the processes that may hold files open which no folder lists any more."""


class DiskWatch:
    """Measures folders at intervals in a thread, and reports which limit they exceed together.

    Between two measurements it asks the file system for its free space, which costs microseconds: once that has fallen by as
    much as the folders may still grow, the next measurement is due. So what is written beyond the limit is at most what one tick
    of the run's clock and one measurement leave time for.
    """

    def __init__(self, folders: tuple[Path, ...], limits: Limits, processes: ListProcesses) -> None:
        self.folders, self._limits, self._processes = folders, limits, processes
        self._exceeded_limit: str | None = None
        self._next = 0.0
        self._task: asyncio.Task[None] | None = None
        self._room = limits.workspace_mb << 20
        self._free_then = _read_free_bytes(folders[0])

    def __call__(self) -> str | None:
        """Returns the exceeded limit, if the last measurement found one; starts the next measurement when it is due."""
        if (self._task is None or self._task.done()) and (time.monotonic() >= self._next or self._has_lost(self._room)):
            self._task = asyncio.get_running_loop().create_task(self._measure())
        return self._exceeded_limit

    async def look_after_run(self) -> str | None:
        """Measures once more when a run has ended, if much was written since the last time; returns the exceeded limit."""
        if self._exceeded_limit is None and self._has_lost(min(self._room, UNSEEN_BYTES)):
            if self._task is not None:
                await asyncio.wait([self._task])
            await self._measure()
        return self._exceeded_limit

    def _has_lost(self, most: int) -> bool:
        """Returns whether the free space has shrunk by more than ``most`` bytes since the last measurement, for any reason."""
        return self._free_then - _read_free_bytes(self.folders[0]) > most

    async def _measure(self) -> None:
        started, self._free_then = time.monotonic(), _read_free_bytes(self.folders[0])
        found = await asyncio.to_thread(measure_folders, self.folders, self._limits, self._processes())
        self._exceeded_limit, self._room = found.exceeded, found.room
        # A large folder takes long to walk: spend at most a tenth of the time on it.
        self._next = time.monotonic() + max(EVERY_SECONDS, 10 * (time.monotonic() - started))


class Measured(Struct, frozen=True):
    """What a measurement found: the limit that is exceeded, or how many bytes may still be written."""

    exceeded: str | None
    room: int = 0


def _read_free_bytes(folder: Path) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bfree * found.f_frsize


def measure_folders(folders: tuple[Path, ...], limits: Limits, processes: list[int]) -> Measured:
    """Measures ``folders`` against the workspace limits. Links are not followed; holes in files do not count.

    A folder that cannot be read counts as exceeding the limit: files must not escape the limit by being unreadable.
    """
    tally, devices = _Tally(limits), set[int]()
    try:
        for folder in folders:
            top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                devices.add(os.fstat(top).st_dev)
                _tally_folder(top, tally, MOST_DEPTH)
            finally:
                os.close(top)
        for size in list_unlinked_sizes(processes, devices, limits.file_mb << 20):
            tally.add(size)
    except _LimitBroken as broken:
        return Measured(str(broken))
    except FileNotFoundError:
        return Measured(None, tally.bytes)  # the workspace was dropped meanwhile
    return Measured(None, tally.bytes)


class _LimitBroken(Exception):
    """The limit of this name is exceeded."""


class _Tally:
    def __init__(self, limits: Limits) -> None:
        self.bytes, self._files = limits.workspace_mb << 20, limits.workspace_files

    def add(self, size: int) -> None:
        self.bytes -= size
        self._files -= 1
        if self.bytes < 0:
            raise _LimitBroken("workspace_mb")
        if self._files < 0:
            raise _LimitBroken("workspace_files")


def _tally_folder(folder: int, tally: _Tally, depth: int) -> None:
    """Adds up a folder by descriptors, so that neither a long path nor a folder replaced by a link leads elsewhere."""
    if depth == 0:
        raise _LimitBroken("workspace_files")
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                tally.add(entry.stat(follow_symlinks=False).st_blocks * 512)
                if not entry.is_dir(follow_symlinks=False):
                    continue
                inner = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError:
                raise _LimitBroken("workspace_mb") from None
            try:
                _tally_folder(inner, tally, depth - 1)
            finally:
                os.close(inner)
