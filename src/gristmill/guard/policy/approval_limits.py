"""Limits how often one caller may ask for approval: people who are asked too often approve without reading."""

from dataclasses import dataclass

from gristmill.errors import Busy
from gristmill.model import Identity
from gristmill.store.base import Transaction
from gristmill.store.tenant_bytes import build_deletion, read_tenant_bytes

HOUR = 3_600.0
_COUNT_OF_CALLER = "SELECT count(*), min({column}) FROM approvals WHERE tenant = ? AND caller = ?"
_COUNT_WAITING = f"{_COUNT_OF_CALLER.format(column='expires')} AND standing = 'pending' AND expires > ? AND root <> ?"
MOST_DELETED = 100
"""How many expired plans are deleted together to make room."""
_OLDEST_EXPIRED = "id IN (SELECT id FROM approvals WHERE tenant = ? AND expires < ? ORDER BY created LIMIT ?)"
_COUNT_ASKED = f"{_COUNT_OF_CALLER.format(column='created')} AND created > ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalLimits:
    """How many plans of one caller may wait at the same time, and may be submitted within an hour; 0 is no limit."""

    waiting: int = 0
    per_hour: int = 0
    tenant_bytes: int = 0
    """How many bytes the stored plans of one tenant may have."""

    def check(self, transaction: Transaction, *, root: str, identity: Identity, now: float) -> None:
        """Checks that ``identity`` may submit one more plan; earlier plans of the run ``root`` do not count, they are withdrawn.

        Raises:
            Busy: too many plans wait or were submitted; the error says when to try again.
        """
        tenant, caller = identity.tenant, identity.caller
        if self.waiting:
            ((count, expires),) = transaction.run(_COUNT_WAITING, tenant, caller, now, root)
            if int(count or 0) >= self.waiting:
                why = f"{count} of your plans already wait for a person: have them decided first"
                raise _build_busy_error(why, "policy.approvals_waiting", self.waiting, float(expires or now) - now)
        if self.per_hour:
            ((count, created),) = transaction.run(_COUNT_ASKED, tenant, caller, now - HOUR)
            if int(count or 0) >= self.per_hour:
                why = f"you asked for {count} approvals within an hour: ask about more calls at once, or less often"
                raise _build_busy_error(why, "policy.approvals_per_hour", self.per_hour, float(created or now) + HOUR - now)

    def make_room(self, transaction: Transaction, *, size: int, tenant: str, now: float) -> None:
        """Deletes expired plans of ``tenant``, the oldest first, until one of ``size`` bytes fits.

        Raises:
            Busy: the plans that have not expired leave no room for it.
        """
        if not self.tenant_bytes:
            return
        while (kept := read_tenant_bytes(transaction, tenant, "approvals")) + size > self.tenant_bytes:
            for sql, values in build_deletion("approvals", _OLDEST_EXPIRED, (tenant, now, MOST_DELETED)):
                transaction.run(sql, *values)
            if read_tenant_bytes(transaction, tenant, "approvals") == kept:
                why = f"the plans of your tenant have {kept:,} bytes, and this one needs {size:,}: have some decided first"
                raise _build_busy_error(why, "policy.approvals_mb", self.tenant_bytes >> 20, HOUR)


def _build_busy_error(why: str, limit: str, value: int, seconds: float) -> Busy:
    minutes = max(1, round(seconds / 60))
    text = f"{why}; then, or in {minutes} min, resume this execution. Nothing that needs approval was done ({limit} = {value})"
    return Busy(text, limit=limit, value=value, retry_after=max(1.0, seconds))
