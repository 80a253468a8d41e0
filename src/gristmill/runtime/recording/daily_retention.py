"""What is too old or too much is forgotten: once a day, behind everybody's back, by whichever process comes first."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gristmill.config.sections.records_section import RecordsConfig
from gristmill.errors import Error
from gristmill.guard.policy.approvals import Approvals
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.journal import Journal
from gristmill.ledger.kept_outcomes import Outcomes
from gristmill.ledger.tokens.spent_tokens import forget_spent
from gristmill.store.base import Store, Transaction
from gristmill.values import dataclass

log = logging.getLogger(__name__)

TABLES = ("CREATE TABLE IF NOT EXISTS chores (name TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL)",)
DAY = 86_400.0
HOUR = 3_600.0
NAME = "retention"

_FORGET_MASKS = """DELETE FROM masks WHERE scope LIKE 'run %' AND at < ?
    AND substr(scope, 5) NOT IN (SELECT root FROM runs)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Keeps the store from growing for ever."""

    store: Store
    journal: Journal
    outcomes: Outcomes
    approvals: Approvals
    audit: Audit
    rules: RecordsConfig
    clock: Callable[[], float]
    others: tuple[Callable[[], Awaitable[object]], ...] = ()
    """What else is tidied up then."""

    async def for_ever(self) -> None:
        """Look every hour whether a day is over."""
        while True:
            try:
                await self.once_a_day()
            except (Error, OSError) as error:
                log.warning("old records could not be removed: %s", error)
            await asyncio.sleep(HOUR)

    async def once_a_day(self) -> bool:
        """Forget what is due, unless somebody did today; whether it was done here."""
        if await self._done_lately() or not await self.store.change(self._claim):
            return False
        now, rules = self.clock(), self.rules
        if rules.journal_days:
            before = now - rules.journal_days * DAY
            await self.journal.prune(before)
            await self.outcomes.prune(before)
            await self.approvals.prune(before)
            await self.store.write((_FORGET_MASKS, (before,)))
        await self.journal.shrink(rules.journal_mb << 20)
        if rules.audit_days:
            await self._audit(now - rules.audit_days * DAY)
            await self.store.write(*forget_spent(now - rules.audit_days * DAY))
        for other in self.others:
            await other()
        return True

    async def _audit(self, before: float) -> None:
        # Removing records means checking the whole chain first: not for nothing.
        ((oldest,),) = await self.store.read("SELECT min(time) FROM audit")
        if oldest is not None and float(oldest) < before:
            await self.audit.prune(before)

    async def _done_lately(self) -> bool:
        rows = await self.store.read("SELECT at FROM chores WHERE name = ?", NAME)
        return bool(rows) and self._is_today(float(rows[0][0] or 0))

    def _claim(self, transaction: Transaction) -> bool:
        rows = transaction.run("SELECT at FROM chores WHERE name = ?", NAME)
        if rows and self._is_today(float(rows[0][0] or 0)):
            return False
        transaction.run(
            "INSERT INTO chores (name, at) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at", NAME, self.clock()
        )
        return True

    def _is_today(self, at: float) -> bool:
        # A time that lies ahead is that of a clock since set back: it must not put this off for years.
        return abs(self.clock() - at) < DAY
