"""Which processes serve from the same store: what one of them promised, another can tell from what was lost with its process."""

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

TABLES = ("CREATE TABLE IF NOT EXISTS instances (id TEXT PRIMARY KEY, seen DOUBLE PRECISION NOT NULL)",)
BEAT_SECONDS = 10.0
DEAD_SECONDS = 45.0
"""Who was not seen for so long is gone; more than a few beats, since clocks differ and stores are slow."""
FORGET_SECONDS = 86_400.0
_BEAT = "INSERT INTO instances (id, seen) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET seen = excluded.seen"


@cache
def _place() -> str:
    """Where processes are numbered as here: this boot of this machine, and this namespace of its numbers."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
        text = boot.read() + os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _started(pid: int) -> str:
    """When a process began, in ticks of the kernel; empty when none of that number lives."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            state, *rest = stat.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else rest[18]  # a killed process nobody has waited for yet is in the list, and gone


class Instances:
    """This process, and the others by what they write down now and then. ``clock`` is wall time."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store, self._clock = store, clock
        self.id = f"{_place()}.{os.getpid()}.{_started(os.getpid())}.{uuid.uuid4().hex[:8]}"
        """Where processes have these numbers, which one it is, and when it began; a process may hold several."""

    @asynccontextmanager
    async def seen(self) -> AsyncGenerator[None]:
        """As long as this is open, others know that we live."""
        await self._beat()
        beating = asyncio.create_task(self._for_ever())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)
            self._store.write_soon(("DELETE FROM instances WHERE id = ?", (self.id,)))

    async def lives_elsewhere(self, id_: str | None) -> bool:
        """Whether another process of that id is alive, as far as can be told."""
        if id_ is None or id_ == self.id:
            return False
        place, pid, started, *_ = (*id_.split("."), "", "", "")
        if place == _place():  # then the kernel knows, and at once
            return _started(int(pid)) == started
        rows = await self._store.read("SELECT seen FROM instances WHERE id = ?", id_)
        return bool(rows) and self._clock() - float(rows[0][0] or 0) < DEAD_SECONDS

    async def _for_ever(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await self._beat()
            except StoreUnavailable as error:
                log.warning("others cannot be told that this process lives: %s", error)

    async def _beat(self) -> None:
        now = self._clock()
        old = ("DELETE FROM instances WHERE seen < ?", (now - FORGET_SECONDS,))
        await self._store.write((_BEAT, (self.id, now)), old)
