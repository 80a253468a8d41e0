"""Interpreters that sessions keep between executions: opened on demand, dropped when idle or when memory runs short."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from gristmill.errors import Refused, UnknownSession
from gristmill.model import Limits
from gristmill.sandbox.base import Pool, Sandbox, same_seal

SWEEP_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRules:
    """How long and how many."""

    idle_seconds: float
    most: int
    memory_mb: int


@dataclass(slots=True)
class _Kept:
    sandbox: Sandbox
    limits: Limits
    used: float


class Kept:
    """The interpreters by session name."""

    def __init__(self, pool: Pool, rules: KeepRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool, self._rules, self._clock = pool, rules, clock
        self._by_name: dict[str, _Kept] = {}
        self._locks: dict[str, asyncio.Lock] = {}  # one execution at a time in one session, its opening included

    @asynccontextmanager
    async def use(self, name: str, limits: Limits, workspace: Callable[[], Path]) -> AsyncGenerator[Sandbox]:
        """The session's interpreter, kept or fresh, for one execution; others of the same session wait.

        ``workspace`` names the session's folder, and is asked only when an interpreter has to be opened.
        """
        async with self._lock(name), self._pool.turn():
            kept = await self._get(name, limits, workspace)
            try:
                yield kept.sandbox
            finally:
                kept.used = self._clock()
                if not kept.sandbox.alive:
                    await self.drop(name)

    async def fork(self, name: str, branch: str) -> None:
        """Branch the interpreter of ``name``; the branch is known as ``branch`` from then on.

        Raises:
            UnknownSession: no interpreter is kept under that name.
            Refused: the branch's name is taken.
        """
        kept = self._by_name.get(name)
        if kept is None or not kept.sandbox.alive:
            raise UnknownSession(f"session {name!r} keeps no live interpreter to fork: run something in it first")
        if branch in self._by_name:
            raise Refused(f"session {branch!r} exists already: choose another name", rule="session.exists")
        async with self._lock(name):
            forked = await kept.sandbox.fork()
        self._by_name[branch] = _Kept(forked, kept.limits, self._clock())
        await self._make_room()

    async def drop(self, name: str) -> None:
        """End a session's interpreter."""
        kept = self._by_name.pop(name, None)
        if kept is not None:
            await kept.sandbox.close()

    async def sweep(self) -> None:
        """Drop what was idle for too long or takes too much, the one used longest ago first."""
        now = self._clock()
        for name, kept in list(self._by_name.items()):
            idle = now - kept.used > self._rules.idle_seconds
            if not kept.sandbox.alive or (idle and not self._busy(name)):
                await self.drop(name)
        await self._make_room()
        for name in [name for name, lock in self._locks.items() if name not in self._by_name and not lock.locked()]:
            del self._locks[name]

    async def sweep_forever(self) -> None:
        """Sweep now and then, for as long as the pool is open."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def close(self) -> None:
        """End all interpreters."""
        for name in list(self._by_name):
            await self.drop(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The sessions that keep an interpreter now."""
        return tuple(self._by_name)

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    def _busy(self, name: str) -> bool:
        return name in self._locks and self._locks[name].locked()

    async def _get(self, name: str, limits: Limits, workspace: Callable[[], Path]) -> _Kept:
        kept = self._by_name.get(name)
        if kept is not None and (not kept.sandbox.alive or not same_seal(kept.limits, limits)):
            await self.drop(name)
            kept = None
        if kept is None:
            sandbox = await self._pool.open_session(limits, workspace())
            kept = self._by_name[name] = _Kept(sandbox, limits, self._clock())
            await self._make_room(but=name)
        return kept

    async def _make_room(self, but: str | None = None) -> None:
        def idle() -> list[tuple[str, _Kept]]:
            found = [(name, kept) for name, kept in self._by_name.items() if name != but and not self._busy(name)]
            return sorted(found, key=lambda item: item[1].used)

        while len(self._by_name) > max(1, self._rules.most) and (candidates := idle()):
            await self.drop(candidates[0][0])
        if len(self._by_name) < 2:
            return
        while sum(kept.sandbox.memory_mb for kept in self._by_name.values()) > self._rules.memory_mb and (candidates := idle()):
            await self.drop(candidates[0][0])
