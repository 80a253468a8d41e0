"""The sync on a schedule: when it is due, what it found, what waits for a person, and when to try again after a failure."""

import asyncio
import fcntl
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gristmill.atomic_file import write_atomically

FIRST_RETRY = timedelta(minutes=1)
WAITING_CHECK = timedelta(minutes=5)
"""How often it is looked whether a person has approved what waits."""
LONGEST_SLEEP = timedelta(minutes=10)
"""A machine may sleep, and its clock may be set: the time is looked at this often."""
MOST_RUNS = 50


class Clock(Protocol):
    """What time it is, and how to wait."""

    def now(self) -> datetime: ...

    async def sleep(self, seconds: float) -> None: ...


class RealClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class SyncResult(Struct, frozen=True, kw_only=True):
    """How one sync went; one that waits for approval has the id of its execution and of its plan."""

    status: Literal["ok", "waiting", "denied", "failed"]
    summary: Any = None
    error: str | None = None
    execution: str | None = None
    plan: str | None = None


class SyncRun(Struct, frozen=True, kw_only=True):
    """A sync that was run, as the state file keeps it."""

    at: datetime
    since: str
    result: SyncResult


class SyncState(Struct, frozen=True, kw_only=True):
    """What outlives the process: from which day on changes are unknown, when the next sync is due, and the last runs.

    ``slot`` is the time of the schedule, ``due`` is when something is to be done: a retry or a look at what waits comes between.
    """

    since: str
    slot: datetime
    due: datetime
    failures: int = 0
    waiting: SyncRun | None = None
    runs: list[SyncRun] = field(default_factory=list[SyncRun])


RunSync = Callable[[str, SyncResult | None], Awaitable[SyncResult]]
"""Syncs what changed since a day, or continues with what waited."""


class ScheduledSync:
    """Runs a sync at ``every``, one at a time, also over restarts: the state is a file."""

    def __init__(self, run_sync: RunSync, state: Path, *, since: str, every: timedelta, clock: Clock | None = None) -> None:
        """Takes the day of the last sync by hand as ``since``; it counts only as long as there is no state.

        Raises:
            ValueError: it is no day, or ``every`` is less than a minute.
        """
        if str(date.fromisoformat(since)) != since:
            raise ValueError(f"{since} is no day such as 2026-06-01")
        if every < timedelta(minutes=1):
            raise ValueError("a sync every few seconds is no schedule: give at least a minute")
        self._run_sync, self._path, self._since, self._every = run_sync, state, since, every
        self._clock = clock or RealClock()

    def read_state(self) -> SyncState:
        """What is known; a sync that was never run is due now."""
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=SyncState)
        except FileNotFoundError:
            now = self._clock.now()
            return SyncState(since=self._since, slot=now, due=now)
        except msgspec.DecodeError as error:
            raise ValueError(
                f"{self._path} is no state of a schedule ({error}): move it away, and give the last day again"
            ) from None

    async def run_forever(self, told: Callable[[SyncRun], None] = lambda _run: None) -> None:
        """Runs what is due and waits for the next, until it is cancelled; ``told`` hears of every run.

        Raises:
            ValueError: another process runs this schedule.
        """
        with self._lock():
            while True:
                left = self.read_state().due - self._clock.now()
                if left > timedelta(0):
                    await self._clock.sleep(min(left, LONGEST_SLEEP).total_seconds())
                else:
                    told(await self._run_due())

    async def run_once(self) -> SyncRun:
        """Runs the sync now, whether it is due or not.

        Raises:
            ValueError: another process runs this schedule.
        """
        with self._lock():
            return await self._run_due()

    async def _run_due(self) -> SyncRun:
        state, began = self.read_state(), self._clock.now()
        waiting = state.waiting
        result = await self._run_sync(state.since, waiting.result if waiting else None)
        # What changed while a plan waited is looked at once more by the next sync.
        at = waiting.at if waiting else began
        run = SyncRun(at=at, since=state.since, result=result)
        now = self._clock.now()
        slot = self._choose_next(state.slot, now)
        match result.status:
            case "ok":
                state = replace(state, since=_day_before(at), slot=slot, due=slot, failures=0, waiting=None)
            case "denied":
                state = replace(state, slot=slot, due=slot, failures=0, waiting=None)
            case "waiting":
                state = replace(state, due=now + min(WAITING_CHECK, self._every), failures=0, waiting=run)
            case "failed":
                pause = min(FIRST_RETRY * 2 ** min(state.failures, 20), self._every)
                state = replace(state, due=now + pause, failures=state.failures + 1, waiting=None)
        repeated = waiting is not None and waiting.result == result
        runs = state.runs if repeated else [*state.runs, run][-MOST_RUNS:]
        write_atomically(self._path, [msgspec.json.format(msgspec.json.encode(replace(state, runs=runs)), indent=2)])
        return run

    def _choose_next(self, slot: datetime, now: datetime) -> datetime:
        """The next time of the schedule: those that were missed are not made up for one by one."""
        return slot + self._every * ((max(now, slot) - slot) // self._every + 1)

    @contextmanager
    def _lock(self) -> Generator[None]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.with_suffix(".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ValueError(f"another process runs the schedule of {self._path}") from None
            yield


def _day_before(at: datetime) -> str:
    """Changes have a day and no time, so the day of a sync is read once more: what has not changed costs only a look."""
    return str(at.date() - timedelta(days=1))
