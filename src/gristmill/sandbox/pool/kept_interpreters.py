"""Interpreters that sessions keep between executions: opened on demand, dropped when idle or when memory runs short."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from gristmill.errors import Refused, SandboxError, UnknownSession
from gristmill.model import Limits
from gristmill.sandbox.base import Pool, Sandbox, same_seal
from gristmill.values import dataclass

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
    async def use(
        self, name: str, limits: Limits, workspace: Callable[[], Path], undo: Callable[[], bool] | None = None
    ) -> AsyncGenerator[Sandbox]:
        """The session's interpreter, kept or fresh, for one execution; others of the same session wait.

        ``workspace`` names the session's folder, and is asked only when an interpreter has to be opened. With ``undo`` the
        execution may turn out to be a rehearsal: when it says so afterwards, the variables are again what they were before.
        """
        async with self._lock(name), self._pool.turn():
            is_new = name not in self._by_name
            kept = await self._get(name, limits, workspace)
            spare = await _spare(kept.sandbox) if undo is not None and not is_new else None
            try:
                yield kept.sandbox
            finally:
                kept.used = self._clock()
                # A session that was dropped meanwhile has nothing to go back to.
                if undo is not None and self._by_name.get(name) is kept and undo():
                    spare = await self._undo(name, kept, spare)
                if spare is not None:
                    await spare.close()
                if not kept.sandbox.alive:
                    await self.drop(name)

    async def _undo(self, name: str, kept: _Kept, spare: Sandbox | None) -> None:
        """Go on with the branch that was made before; without one the interpreter begins anew."""
        if spare is None:
            await self.drop(name)
        else:
            rehearsed, kept.sandbox = kept.sandbox, spare
            await rehearsed.close()

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
            # One that has just died under a program is its user's to drop: he still reads what is left of it.
            if not self._busy(name) and (not kept.sandbox.alive or now - kept.used > self._rules.idle_seconds):
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


async def _spare(sandbox: Sandbox) -> Sandbox | None:
    try:
        return await sandbox.fork()
    except SandboxError:
        return None  # this level cannot fork: a rehearsal then costs the session its variables, and the next outcome says so
