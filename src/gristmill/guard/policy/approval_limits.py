"""How much one caller may ask of people: whoever is asked too often says yes without reading."""

from dataclasses import dataclass

from gristmill.errors import Busy
from gristmill.store.base import Transaction

HOUR = 3_600.0
_MINE = "SELECT count(*), min({column}) FROM approvals WHERE tenant = ? AND caller = ?"
_WAITING = f"{_MINE.format(column='expires')} AND standing = 'pending' AND expires > ? AND root <> ?"
_ASKED = f"{_MINE.format(column='created')} AND created > ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Plans of one caller that may wait at the same time, and that may be asked within an hour; 0 is no limit."""

    waiting: int = 0
    per_hour: int = 0

    def check(self, transaction: Transaction, *, root: str, caller: str, tenant: str, now: float) -> None:
        """Look whether ``caller`` may ask once more; what the same run asked before is withdrawn and does not wait.

        Raises:
            Busy: people have enough to decide; says when there may be room.
        """
        if self.waiting:
            ((count, expires),) = transaction.run(_WAITING, tenant, caller, now, root)
            if int(count or 0) >= self.waiting:
                why = f"{count} plans of yours wait for a person already: have them decided first"
                raise _busy(why, "policy.approvals_waiting", self.waiting, float(expires or now) - now)
        if self.per_hour:
            ((count, created),) = transaction.run(_ASKED, tenant, caller, now - HOUR)
            if int(count or 0) >= self.per_hour:
                why = f"you asked for {count} approvals within an hour: ask about more calls at once, or less often"
                raise _busy(why, "policy.approvals_per_hour", self.per_hour, float(created or now) + HOUR - now)


def _busy(why: str, limit: str, value: int, seconds: float) -> Busy:
    minutes = max(1, round(seconds / 60))
    text = f"{why}; then, or in {minutes} min, resume this execution. Nothing that needs approval was done ({limit} = {value})"
    return Busy(text, limit=limit, value=value, retry_after=max(1.0, seconds))
