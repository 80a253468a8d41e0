"""Checks whether executions can run, by doing in small what an execution does: it writes to the store, needs room on the disk and
descriptors, and a sandbox."""

import asyncio
import os
from pathlib import Path
from typing import Literal

from msgspec import Struct

from gristmill.errors import StoreUnavailable
from gristmill.sandbox.base import Pool
from gristmill.store.serving_processes import ServingProcesses

ANSWER_SECONDS = 2.0
"""How long the store and the disk may take to answer."""
LEAST_FREE_BYTES = 16_000_000
LEAST_FREE_FILES = 100
NEEDED_DESCRIPTORS = 16
"""What one execution opens: the channel and the output of its sandbox, its control group, its files."""

Part = Literal["sandbox", "store", "disk", "descriptors"]


class ReadinessProblem(Struct, frozen=True):
    """Why executions cannot run: the part that cannot be used, and what is wrong with it."""

    part: Part
    message: str


class ReadinessProbe:
    """Finds out whether executions can run: in a sandbox of ``pool``, with a store that is written, and room in ``folder``."""

    def __init__(self, pool: Pool, processes: ServingProcesses, folder: Path) -> None:
        self._pool, self._processes, self._folder = pool, processes, folder
        self._asking_disk: asyncio.Task[str | None] | None = None

    async def find_problem(self) -> ReadinessProblem | None:
        """Returns why executions cannot run now, or None if they can."""
        if self._pool.problem is not None:
            return ReadinessProblem("sandbox", f"no sandbox is available: {self._pool.problem}")
        if (lack := find_lack_of_descriptors()) is not None:
            return ReadinessProblem("descriptors", lack)
        if (lack := await self._ask_disk()) is not None:
            return ReadinessProblem("disk", lack)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                # A write that every process makes anyway. Reading would succeed on a full disk and a read-only database.
                await self._processes.write_beat()
        except StoreUnavailable as error:
            return ReadinessProblem("store", error.message)
        except TimeoutError:
            return ReadinessProblem("store", f"the store did not answer within {ANSWER_SECONDS:g} s")
        return None

    async def _ask_disk(self) -> str | None:
        # In a thread, and one at a time: on a dead disk the question itself never ends.
        if self._asking_disk is None:
            self._asking_disk = asyncio.create_task(asyncio.to_thread(find_lack_of_room, self._folder))
        done, _ = await asyncio.wait({self._asking_disk}, timeout=ANSWER_SECONDS)
        if not done:
            return f"the disk of the state folder did not answer within {ANSWER_SECONDS:g} s"
        asked, self._asking_disk = self._asking_disk, None
        return asked.result()


def find_lack_of_room(folder: Path) -> str | None:
    """Returns what is missing on the disk of ``folder``, or None if there is room."""
    try:
        found = os.statvfs(folder)
    except OSError as error:
        return f"the state folder cannot be used: {error.strerror}"
    if found.f_flag & os.ST_RDONLY:
        return "the disk of the state folder is read-only"
    if found.f_bavail * found.f_frsize < LEAST_FREE_BYTES:
        return f"the disk of the state folder has less than {LEAST_FREE_BYTES // 1_000_000} MB left"
    if found.f_files and found.f_favail < LEAST_FREE_FILES:
        return f"the disk of the state folder has room for less than {LEAST_FREE_FILES} files"
    return None


def find_lack_of_descriptors() -> str | None:
    """Returns a message if this process cannot open as many descriptors as an execution needs; None if it can."""
    opened: list[int] = []
    try:
        for _ in range(NEEDED_DESCRIPTORS):
            opened.append(os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return f"this process cannot open more files ({error.strerror}): raise its limit (ulimit -n)"
    finally:
        for descriptor in opened:
            os.close(descriptor)
    return None
