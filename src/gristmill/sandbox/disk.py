"""How much a folder on disk holds, looked at while code writes to it: a real disk has no size limit of its own per folder."""

import asyncio
import os
import time
from pathlib import Path

from gristmill.model import Limits

EVERY_SECONDS = 0.2


class DiskWatch:
    """Measures a workspace now and then in a thread, and says which limit it broke."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder, self._limits = folder, limits
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
        self._broken = await asyncio.to_thread(exceeded, self._folder, self._limits)
        # A large folder takes long to walk: spend at most a tenth of the time on it.
        self._next = time.monotonic() + max(EVERY_SECONDS, 10 * (time.monotonic() - started))


def exceeded(folder: Path, limits: Limits) -> str | None:
    """Which workspace limit ``folder`` breaks, or None. Links are not followed; holes in files do not count."""
    total, files = 0, 0
    most_bytes = limits.workspace_mb << 20
    todo = [os.fspath(folder)]
    while todo:
        try:
            entries = list(os.scandir(todo.pop()))
        except OSError:
            continue  # removed or closed to us meanwhile
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            files += 1
            total += status.st_blocks * 512
            if is_folder:
                todo.append(entry.path)
        if files > limits.workspace_files:
            return "workspace_files"
        if total > most_bytes:
            return "workspace_mb"
    return None
