"""Notices a clock that jumps, so that nothing is deleted as old because of it.

The time that passed is known from two places: the kernel's counter since the boot, which no setting of the clock moves, and the
time that the store has seen last. A wall clock that disagrees with them is in doubt until it agrees again, or until an operator
confirms it.
"""

import logging
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from gristmill.store.base import Store, Transaction

log = logging.getLogger(__name__)

JUMP_SECONDS = 3_600.0
"""How far the clock may be from the time that must have passed."""
GAP_SECONDS = 7 * 86_400.0
"""How long nothing may have used the store, across a restart of the machine, before the clock is in doubt."""
CONFIRM_COMMAND = "gristmill doctor --trust-clock"
_NAME = "clock"


class SeenTime(Struct, frozen=True, kw_only=True):
    """The time that the store has seen last: ``wall`` time, and the ``uptime`` of the ``boot`` in which it was seen.

    ``confirmed`` counts how often an operator has confirmed the clock.
    """

    wall: float
    boot: str
    uptime: float
    confirmed: int = 0


class ClockGuard:
    """Compares the wall clock with the time that must have passed. ``now`` is to be used for what is stored."""

    def __init__(
        self, store: Store, wall: Callable[[], float] = time.time, *, uptime: Callable[[], float] | None = None, boot: str = ""
    ) -> None:
        self._store, self._wall = store, wall
        self._uptime = uptime or (lambda: time.clock_gettime(time.CLOCK_BOOTTIME))
        self._boot = boot or _read_boot_id()
        self._base_wall, self._base_uptime = wall(), self._uptime()
        self._slack = 0.0
        """How much later than expected the clock may be: after a restart it is not known how much time has passed."""
        self._confirmed: int | None = None
        self._told: str | None = None

    @property
    def problem(self) -> str | None:
        """Returns why the clock is in doubt, or None if it agrees with the time that must have passed."""
        ahead = self._wall() - self._expect()
        if ahead < -JUMP_SECONDS:
            return f"the clock is {_describe_span(-ahead)} behind the time that the store has seen"
        if ahead > self._slack + JUMP_SECONDS:
            return f"the clock is {_describe_span(ahead)} ahead of the time that has passed as far as is known"
        return None

    def now(self) -> float:
        """Returns the time; never one that lies before what has been seen, if the clock was set back."""
        return self._wall() if self.problem is None else max(self._wall(), self._expect())

    def estimate(self) -> float:
        """Returns the time that it must be: the clock's, or while that is in doubt the last that was seen and what has passed."""
        return self._wall() if self.problem is None else self._expect()

    def may_expire(self) -> bool:
        """Returns whether something may be treated as old now."""
        return self.problem is None

    async def sync(self) -> None:
        """Compares the clock with the store, and stores the time if it is not in doubt; tells of a new doubt in the log.

        Raises:
            StoreUnavailable: the store does not answer.
        """
        await self._store.change(self._sync_in_transaction, is_brief=True)
        if (problem := self.problem) != self._told and (problem is None) != (self._told is None):
            if problem is None:
                log.warning("the clock agrees again: old sessions and records are deleted as configured")
            else:
                log.error("%s: nothing is deleted as old until it agrees, or `%s` confirms it", problem, CONFIRM_COMMAND)
        self._told = problem

    def _sync_in_transaction(self, step: Transaction) -> None:
        seen = _read_seen(step)
        is_first = self._confirmed is None
        if seen is not None and not is_first and seen.confirmed != self._confirmed:
            self._rebase()  # an operator has confirmed the clock since
        elif seen is not None and is_first:
            self._begin_with(seen)
        elif seen is not None and seen.wall - JUMP_SECONDS > self._expect():
            self._base_wall, self._base_uptime, self._slack = seen.wall, self._uptime(), 0.0  # another process is ahead of us
        self._confirmed = seen.confirmed if seen is not None else 0
        if self.problem is None:
            self._rebase()
            if seen is None or self._base_wall > seen.wall or seen.boot != self._boot:
                _write_seen(step, self._build_seen(max(self._base_wall, seen.wall if seen else 0.0)))

    def _begin_with(self, seen: SeenTime) -> None:
        if seen.boot == self._boot:
            self._base_wall, self._base_uptime, self._slack = seen.wall, seen.uptime, 0.0
        else:
            self._base_wall, self._base_uptime, self._slack = seen.wall, self._uptime(), GAP_SECONDS

    def _build_seen(self, wall: float) -> SeenTime:
        return SeenTime(wall=wall, boot=self._boot, uptime=self._base_uptime, confirmed=self._confirmed or 0)

    def _rebase(self) -> None:
        self._base_wall, self._base_uptime, self._slack = self._wall(), self._uptime(), 0.0

    def _expect(self) -> float:
        return self._base_wall + self._uptime() - self._base_uptime


async def trust_clock(store: Store, wall: Callable[[], float] = time.time) -> None:
    """Records that an operator has confirmed the clock of this machine; every process takes it over."""

    def work(step: Transaction) -> None:
        seen = _read_seen(step)
        uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
        confirmed = seen.confirmed + 1 if seen else 1
        _write_seen(step, SeenTime(wall=wall(), boot=_read_boot_id(), uptime=uptime, confirmed=confirmed))

    await store.change(work)


def _read_seen(step: Transaction) -> SeenTime | None:
    rows = step.run("SELECT fact FROM store_facts WHERE name = ?", _NAME)
    return msgspec.json.decode(str(rows[0][0]), type=SeenTime) if rows else None


def _write_seen(step: Transaction, seen: SeenTime) -> None:
    put = "INSERT INTO store_facts (name, fact) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET fact = excluded.fact"
    step.run(put, _NAME, msgspec.json.encode(seen).decode())


def _read_boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _describe_span(seconds: float) -> str:
    days = seconds / 86_400
    return f"{days:.1f} days" if days >= 2 else f"{seconds / 3_600:.1f} hours"
