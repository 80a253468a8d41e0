"""The inbox of plans that wait for a person, for whoever needs no more: no sandbox or server is opened."""

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.guard.policy import approvals
from gristmill.guard.policy.approvals import Approval, Approvals
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.audit.audit_rows import AUDIT_TABLES
from gristmill.model import Json
from gristmill.runtime.open.open_records import ledger_key, open_config_store
from gristmill.store.open_store import FILE

__all__ = ["Approval", "Approvals", "open_inbox"]


@asynccontextmanager
async def open_inbox(config: Config) -> AsyncGenerator[Approvals]:
    """The inbox, to look at and to decide in; decisions go on record.

    Raises:
        NotFound: nothing has ever been asked here.
        StoreUnavailable: the store cannot be opened.
        ConfigError: its key cannot be used.
    """
    if config.store.url is None and not (config.state_dir / FILE).exists():
        raise NotFound(f"nothing has been asked in {config.state_dir} yet")
    async with open_config_store(config, (*approvals.TABLES, *AUDIT_TABLES)) as store:
        audit = Audit(store, ledger_key(config), config.state_dir)
        try:
            yield Approvals(store, time.time, decision_recorder(audit))
        finally:
            await audit.close()


def decision_recorder(audit: Audit) -> Callable[[Approval], None]:
    """Puts decisions on record: who decided what about which calls."""

    def record(approval: Approval) -> None:
        calls: list[Json] = [
            {"number": call.number, "tool": call.tool, "hash": call.hash, "approved": call.number in approval.approved}
            for call in approval.plan.calls
            if call.needs_approval
        ]
        audit.record(
            AuditRecord(
                kind="approval",
                id=approval.id,
                parent=approval.execution,
                time=approval.decided or 0.0,
                tenant=approval.tenant,
                session=approval.session,
                caller=approval.caller,
                status=approval.standing,
                details={"by": approval.decided_by, "calls": calls},
            )
        )

    return record
