"""Deletes what is too old or too much: once a day, in the background, by the first process that finds it due."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from msgspec import Struct

from gristmill.config.sections.records_section import RecordsConfig
from gristmill.errors import Error
from gristmill.guard.policy.approvals import Approvals
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.journal import Journal
from gristmill.ledger.kept_outcomes import KeptOutcomes
from gristmill.ledger.tokens.spent_tokens import build_forget_statements
from gristmill.store.base import Store, Transaction
from gristmill.store.clock_guard import ClockGuard

log = logging.getLogger(__name__)

DAY = 86_400.0
HOUR = 3_600.0
FILL_SECONDS = 10.0
"""How often it is looked how much was written."""
FILL_PARTS = 10
"""The journal is shrunk each time a process has written this part of its size: it is never much larger than it may be."""
CHORE_NAME = "retention"

_FORGET_MASKS = """DELETE FROM masks WHERE scope LIKE 'run %' AND at < ?
    AND substr(scope, 5) NOT IN (SELECT root FROM runs)"""


class DailyRetention(Struct, frozen=True, kw_only=True):
    """Keeps the store from growing without limit."""

    store: Store
    journal: Journal
    outcomes: KeptOutcomes
    approvals: Approvals
    audit: Audit
    rules: RecordsConfig
    clock: Callable[[], float]
    guard: ClockGuard | None = None
    """Stops all deletion by age while the clock is in doubt."""
    others: tuple[Callable[[], Awaitable[object]], ...] = ()
    """Further cleanups that run at the same time."""
    as_it_fills: tuple[Callable[[], Awaitable[object]], ...] = ()
    """Cleanups that run every few seconds, and do nothing if nothing was filled."""

    async def run_forever(self) -> None:
        """Checks every hour whether a day is over, without end."""
        while True:
            try:
                await self.run_if_due()
            except (Error, OSError) as error:
                log.warning("old records could not be removed: %s", error)
            for _ in range(int(HOUR / FILL_SECONDS)):
                await asyncio.sleep(FILL_SECONDS)
                try:
                    if self.guard is not None:
                        await self.guard.sync()
                    await self.shrink_as_it_fills()
                except (Error, OSError) as error:
                    log.warning("old runs and sessions could not be removed: %s", error)

    async def shrink_as_it_fills(self) -> None:
        """Removes old runs when this process has written a good part of what the journal may have; then runs ``as_it_fills``."""
        most = self.rules.journal_mb << 20
        if self.journal.written > most / FILL_PARTS:
            await self.journal.shrink(most)
        for shrink in self.as_it_fills:
            await shrink()

    async def run_if_due(self) -> bool:
        """Deletes what is due unless another process did so within a day; returns whether this process did it."""
        now, rules = self.clock(), self.rules  # read once, before it is checked: the clock may jump at any time
        if self.guard is not None and self.guard.problem is not None:
            return False
        if await self._was_done_today(now) or not await self.store.change(lambda step: self._claim_today(step, now)):
            return False
        if rules.journal_days:
            before = now - rules.journal_days * DAY
            await self.journal.prune(before)
            await self.outcomes.prune(before)
            await self.approvals.prune(before)
            await self.store.write((_FORGET_MASKS, (before,)))
        await self.journal.shrink(rules.journal_mb << 20)
        if rules.audit_days:
            await self._prune_audit(now - rules.audit_days * DAY)
            await self.store.write(*build_forget_statements(now - rules.audit_days * DAY))
        for other in self.others:
            await other()
        return True

    async def _prune_audit(self, before: float) -> None:
        # Pruning verifies the whole chain first, so it runs only if there is something to delete.
        ((oldest,),) = await self.store.read("SELECT min(time) FROM audit")
        if oldest is not None and float(oldest) < before:
            await self.audit.prune(before)

    async def _was_done_today(self, now: float) -> bool:
        rows = await self.store.read("SELECT at FROM chores WHERE name = ?", CHORE_NAME)
        return bool(rows) and _is_within_a_day(float(rows[0][0] or 0), now)

    def _claim_today(self, transaction: Transaction, now: float) -> bool:
        rows = transaction.run("SELECT at FROM chores WHERE name = ?", CHORE_NAME)
        if rows and _is_within_a_day(float(rows[0][0] or 0), now):
            return False
        transaction.run(
            "INSERT INTO chores (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at", CHORE_NAME, now
        )
        return True


def _is_within_a_day(at: float, now: float) -> bool:
    # A time in the future comes from a clock that has since been set back: it must not delay retention for years.
    return abs(now - at) < DAY
