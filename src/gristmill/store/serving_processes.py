"""Tracks the processes that serve from one store, to tell work promised by a live process from work lost with an ended one."""

import asyncio
import hashlib
import logging
import os
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import cache

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Store

log = logging.getLogger(__name__)

BEAT_SECONDS = 10.0
DEAD_SECONDS = 45.0
"""A process that was not seen for this long has ended. Several beats, because clocks differ and stores may be slow."""
FORGET_SECONDS = 86_400.0
_BEAT = "INSERT INTO instances (id, seen) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen"


@cache
def _identify_pid_space() -> str:
    """Identifies the numbering of processes here: this boot of this machine, and this pid namespace."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        text = boot.read() + os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read_start_time(pid: int) -> str:
    """Returns when a process started, in ticks of the kernel; empty when no process with that number is alive."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            state, *rest = stat.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else rest[18]  # a process that has ended but was not waited for is still listed


class ServingProcesses:
    """This process, and the others by the times they write to the store at intervals. ``clock`` is wall time."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self.id = f"{_identify_pid_space()}.{os.getpid()}.{_read_start_time(os.getpid())}.{uuid.uuid4().hex[:8]}"
        """Numbering place, pid, start time and a random part; one process may have several such ids."""

    @asynccontextmanager
    async def announce(self) -> AsyncGenerator[None]:
        """Shows other processes that this one is alive, while the block runs."""
        await self.write_beat()
        beating = asyncio.create_task(self._beat_repeatedly())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            self._store.write_soon(("DELETE FROM instances WHERE id = ?", (self.id,)))

    async def lives_elsewhere(self, id_: str | None) -> bool:
        """Whether another process with this id is alive, as far as can be known from here."""
        if id_ is None or id_ == self.id:
            return False
        place, pid, started, *_ = (*id_.split("."), "", "", "")
        if place == _identify_pid_space():  # the same machine: the kernel knows, and needs no wait
            return _read_start_time(int(pid)) == started
        rows = await self._store.read("SELECT seen FROM instances WHERE id = ?", id_)
        return bool(rows) and self._clock() - float(rows[0][0] or 0) < DEAD_SECONDS

    async def _beat_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self.write_beat()
            except StoreUnavailable as error:
                log.warning("other processes cannot see that this one is alive: %s", error)

    async def write_beat(self) -> None:
        """Writes that this process is alive.

        Raises:
            StoreUnavailable: it could not be written.
        """
        now = self._clock()
        old = ("DELETE FROM instances WHERE seen < ?", (now - FORGET_SECONDS,))
        await self._store.write((_BEAT, (self.id, now)), old)
