"""Interpreters that sessions keep between executions: opened on demand, dropped when idle or when memory runs short."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gristmill.errors import Refused, SandboxError, UnknownSession
from gristmill.model import Limits
from gristmill.sandbox.base import LIMITS_PER_RUN, Pool, Sandbox, list_changed_sealed_limits
from gristmill.sandbox.pool.fair_eviction import HeldInterpreter, choose_evicted

SWEEP_SECONDS = 1.0
FORK_SECONDS = 1.0
"""How long a session may take to branch: a healthy one takes milliseconds, and its program may have broken it."""
MOST_LOSSES = 1_000
"""For how many sessions it is remembered why they lost their interpreter."""

UNRESTORED = "its program was run to plan its calls, and the variables could not be restored"
"""Why a session loses its interpreter after a rehearsal that could not be undone."""


class KeepRules(Struct, frozen=True, kw_only=True):
    """How long an interpreter is kept idle, how many are kept, and how much memory they may use together."""

    idle_seconds: float
    most_interpreters: int
    memory_mb: int


class LentInterpreter(Struct, frozen=True, kw_only=True):
    """A session's interpreter, for one execution."""

    sandbox: Sandbox
    loss: str | None = None
    """Why the session had to start a fresh interpreter, if it kept one before."""
    spent_seconds: float = 0.0
    """The time that the interpreter took to branch before the execution; it counts towards ``limits.seconds``."""


class _Kept(Struct):
    sandbox: Sandbox
    limits: Limits
    used: float
    share: str = ""


class KeptInterpreters:
    """The kept interpreters by session name."""

    def __init__(self, pool: Pool, rules: KeepRules, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool, self._rules, self._clock = pool, rules, clock
        self._by_name: dict[str, _Kept] = {}
        self._losses: OrderedDict[str, str] = OrderedDict()
        # One execution at a time in one session, including the opening of its interpreter.
        self._locks: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def use(
        self, name: str, limits: Limits, workspace: Callable[[], Path], undo: Callable[[], bool] | None = None, *, share: str = ""
    ) -> AsyncGenerator[LentInterpreter]:
        """Lends the session's interpreter, kept or fresh, for one execution; others of the same session wait.

        ``workspace`` returns the session's folder, and is called only when an interpreter has to be opened. With ``undo`` the
        execution may turn out to be a rehearsal: when ``undo`` returns True afterwards, the variables are restored. ``share``
        names the tenant, whose own interpreters make room first when it keeps more than others.
        """
        async with self._get_lock(name), self._pool.turn():
            is_new = name not in self._by_name
            kept = await self._get_or_open(name, limits, workspace, share)
            spare, spent = None, 0.0
            if undo is not None and not is_new:
                began = time.monotonic()
                spare = await _fork_spare(kept.sandbox, min(FORK_SECONDS, limits.seconds / 2))
                spent = time.monotonic() - began
                if not kept.sandbox.alive:  # it was given up because it did not branch
                    kept = await self._get_or_open(name, limits, workspace, share)
            try:
                yield LentInterpreter(sandbox=kept.sandbox, loss=self._losses.pop(name, None), spent_seconds=spent)
            finally:
                kept.used = self._clock()
                # A session that was dropped meanwhile has no state to restore.
                if undo is not None and self._by_name.get(name) is kept and undo():
                    # A session whose first program was a rehearsal had no variables that could be lost.
                    spare = await self._restore_spare(name, kept, spare, None if is_new else UNRESTORED)
                if spare is not None:
                    await spare.close()
                if not kept.sandbox.alive:
                    await self._drop_kept(name, kept, None)

    async def _restore_spare(self, name: str, kept: _Kept, spare: Sandbox | None, reason: str | None) -> None:
        """Continues with the branch that was made before; without one the interpreter starts fresh."""
        if spare is None:
            await self._drop_kept(name, kept, reason)
        else:
            rehearsed, kept.sandbox = kept.sandbox, spare
            await rehearsed.close()

    async def fork(self, name: str, branch: str) -> None:
        """Branches the interpreter of ``name``; the branch gets the session name ``branch``.

        Raises:
            UnknownSession: no interpreter is kept under that name.
            Refused: the branch's name is taken.
            SandboxError: the session could not be branched; one that gave no answer has ended.
        """
        self._get_forkable(name)
        if branch in self._by_name or self._is_busy(branch):
            raise Refused(f"session {branch!r} exists already: choose another name", rule="session.exists")
        # The branch's lock reserves its name: of several forks to one name the first succeeds, and an execution in it waits.
        async with self._get_lock(branch), self._get_lock(name):
            kept = self._get_forkable(name)
            try:
                forked = await kept.sandbox.fork(FORK_SECONDS)
            finally:
                if not kept.sandbox.alive:
                    await self._drop_kept(name, kept, None)
            self._by_name[branch] = _Kept(forked, kept.limits, self._clock(), kept.share)
        await self._make_room()

    def _get_forkable(self, name: str) -> _Kept:
        kept = self._by_name.get(name)
        if kept is None or not kept.sandbox.alive:
            raise UnknownSession(f"session {name!r} keeps no live interpreter to fork: run something in it first")
        return kept

    async def drop(self, name: str) -> None:
        """Ends a session's interpreter."""
        self._losses.pop(name, None)
        kept = self._by_name.pop(name, None)
        if kept is not None:
            await kept.sandbox.close()

    async def sweep(self) -> None:
        """Drops interpreters that were idle for too long or use too much memory, least recently used first."""
        now = self._clock()
        for name, kept in list(self._by_name.items()):
            # An interpreter that has just died during a program is dropped by its user, who still reads its last state.
            if self._is_busy(name):
                continue
            if not kept.sandbox.alive:
                await self._drop_kept(name, kept, None)
            elif now - kept.used > self._rules.idle_seconds:
                await self._drop_kept(
                    name, kept, f"it was not used for {self._rules.idle_seconds:g} s (sandbox.session_idle_seconds)"
                )
        await self._make_room()
        for name in [name for name, lock in self._locks.items() if name not in self._by_name and not lock.locked()]:
            del self._locks[name]

    async def sweep_forever(self) -> None:
        """Sweeps at intervals, for as long as the pool is open."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def close(self) -> None:
        """Ends all interpreters."""
        for name in list(self._by_name):
            await self.drop(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The sessions that keep an interpreter now."""
        return tuple(self._by_name)

    def _get_lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    def _is_busy(self, name: str) -> bool:
        return name in self._locks and self._locks[name].locked()

    async def _get_or_open(self, name: str, limits: Limits, workspace: Callable[[], Path], share: str) -> _Kept:
        kept = self._by_name.get(name)
        if kept is not None:
            changed = [limit for limit in list_changed_sealed_limits(kept.limits, limits) if limit not in LIMITS_PER_RUN]
            if kept.sandbox.alive and not changed:
                return kept
            await self._drop_kept(name, kept, f"its limits changed ({', '.join(changed)})" if changed else None)
        sandbox = await self._pool.open_session(limits, workspace())
        kept = self._by_name[name] = _Kept(sandbox, limits, self._clock(), share)
        await self._make_room(but=name)
        return kept

    async def _drop_kept(self, name: str, kept: _Kept, reason: str | None) -> None:
        """Ends an interpreter and remembers why; without a ``reason`` the interpreter itself knows it."""
        if self._by_name.get(name) is kept:
            del self._by_name[name]
            if (why := kept.sandbox.lost or reason) is not None:
                self._losses[name] = why
                while len(self._losses) > MOST_LOSSES:
                    self._losses.popitem(last=False)
        await kept.sandbox.close()

    async def _make_room(self, but: str | None = None) -> None:
        rules = self._rules
        while (name := choose_evicted(self._list_held(but), max(1, rules.most_interpreters))) is not None:
            room = f"it made room for others (sandbox.sessions_kept = {rules.most_interpreters})"
            await self._drop_kept(name, self._by_name[name], room)
        while len(self._by_name) > 1:
            held = [replace(each, weight=self._by_name[each.name].sandbox.memory_mb) for each in self._list_held(but)]
            if (name := choose_evicted(held, rules.memory_mb)) is None:
                return
            memory = f"memory ran short (sandbox.sessions_memory_mb = {rules.memory_mb})"
            await self._drop_kept(name, self._by_name[name], memory)

    def _list_held(self, but: str | None) -> list[HeldInterpreter]:
        return [
            HeldInterpreter(name=name, share=kept.share, used=kept.used, is_idle=name != but and not self._is_busy(name))
            for name, kept in self._by_name.items()
        ]


async def _fork_spare(sandbox: Sandbox, seconds: float) -> Sandbox | None:
    try:
        return await sandbox.fork(seconds)
    except SandboxError:
        # This level cannot fork, or this session cannot: a rehearsal then costs the session its variables, and the next outcome
        # says so.
        return None
