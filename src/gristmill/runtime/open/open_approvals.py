"""Opens the approvals store (the inbox of plans that wait for a person) without starting sandboxes or servers."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Literal

from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.guard.policy.approvals import Approval, Approvals
from gristmill.guard.policy.standing_rules import StandingRule, TellRule
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.model import Json
from gristmill.runtime.open.open_records import load_ledger_key, open_config_store
from gristmill.store.clock_guard import ClockGuard
from gristmill.store.open_store import FILE_NAME

__all__ = ["Approval", "Approvals", "open_approvals"]


@asynccontextmanager
async def open_approvals(config: Config) -> AsyncGenerator[Approvals]:
    """Opens the inbox, to read plans and to decide about them; decisions are recorded.

    Raises:
        NotFound: no approval has ever been asked for here.
        StoreUnavailable: the store cannot be opened.
        ConfigError: the key of the store cannot be used.
    """
    if config.store.url is None and not (config.state_dir / FILE_NAME).exists():
        raise NotFound(f"no approval has been asked for in {config.state_dir} yet")
    async with open_config_store(config) as store:
        audit, guard = Audit(store, load_ledger_key(config), config.state_dir), ClockGuard(store)
        try:
            await guard.sync()
            yield Approvals(store, guard.estimate, build_decision_recorder(audit), build_rule_recorder(audit, guard.estimate))
        finally:
            await audit.close()


def build_decision_recorder(audit: Audit) -> Callable[[Approval], None]:
    """Returns a function that records decisions: who decided what about which calls."""

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
                tenant=approval.owner.tenant,
                session=approval.session,
                caller=approval.owner.caller,
                status=approval.standing,
                details={"by": approval.decided_by, "calls": calls},
            )
        )

    return record


def build_rule_recorder(audit: Audit, clock: Callable[[], float]) -> TellRule:
    """Returns a function that records rules: who made or revoked which one."""

    def record(rule: StandingRule, how: Literal["made", "revoked"], by: str) -> None:
        audit.record(
            AuditRecord(
                kind="approval", id=rule.id, parent=rule.approval, time=clock(), tenant=rule.owner.tenant, session=rule.session,
                caller=rule.owner.caller, tool=rule.tool, status=f"rule {how}", details={"by": by, "rule": rule.text},
            )
        )  # fmt: skip

    return record
