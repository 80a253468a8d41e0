"""Opens all that must outlive the process, as one value: the store, and in it the journal, the inbox, the masks and the audit."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from gristmill.config.sections.mask_section import MaskConfig
from gristmill.config.tree import Config
from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.policy.approvals import Approval, Approvals
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.journal import Journal
from gristmill.ledger.kept_outcomes import KeptOutcomes
from gristmill.ledger.ledger_keys import derive_key
from gristmill.ledger.record_seal import RecordSeal
from gristmill.ledger.tokens.spent_tokens import SpentTokens
from gristmill.runtime.execution.session_redactors import SessionRedactors
from gristmill.runtime.open.gateway_credentials import find_credentials
from gristmill.runtime.open.open_approvals import build_decision_recorder, build_rule_recorder
from gristmill.runtime.open.open_records import load_ledger_key, open_config_store
from gristmill.runtime.open.session_stores import SessionStores, build_session_stores
from gristmill.runtime.recording.daily_retention import DailyRetention
from gristmill.store.base import Store
from gristmill.store.clock_guard import ClockGuard


class DurableStores(Struct, frozen=True, kw_only=True):
    """The store, and the objects that write into it."""

    store: Store
    journal: Journal
    approvals: Approvals
    redactors: SessionRedactors
    audit: Audit
    session_stores: SessionStores
    outcomes: KeptOutcomes
    spent: SpentTokens
    decision_listeners: "DecisionListeners"
    credentials: frozenset[str]
    """The gateway's own secrets, which are masked in every text."""


class DecisionListeners(Struct, frozen=True):
    """The listeners to decisions about plans; others may be added."""

    listeners: list[Callable[[Approval], None]]

    def __call__(self, approval: Approval) -> None:
        """Passes a decision to all listeners."""
        for listener in self.listeners:
            listener(approval)


@asynccontextmanager
async def open_durable_stores(config: Config, clock: Callable[[], float] = time.time) -> AsyncGenerator[DurableStores]:
    """Opens all durable stores; what was handed over to them is written before they close.

    Raises:
        StoreUnavailable: the store cannot be opened.
        ConfigError: the key of the store cannot be used.
    """
    key, known = load_ledger_key(config), find_credentials(config, os.environ)
    async with open_config_store(config) as store:
        guard = ClockGuard(store, clock)
        await guard.sync()
        audit = Audit(store, key, config.state_dir, clock=clock)
        decided = DecisionListeners([build_decision_recorder(audit)])
        seal, inbox = RecordSeal(key), Approvals(store, guard.estimate, decided, build_rule_recorder(audit, guard.estimate))
        journal, promised = (
            Journal(store, seal, clock),
            KeptOutcomes(
                store, seal, clock, tenant_bytes=config.records.outcomes_mb << 20, noted_bytes=config.records.outcome_kb << 10
            ),
        )
        kept = build_session_stores(store, config, derive_key(key, "skills"), guard, seal)
        await kept.adopt_old_folders()
        chores = DailyRetention(
            store=store,
            journal=journal,
            outcomes=promised,
            approvals=inbox,
            audit=audit,
            rules=config.records,
            clock=clock,
            guard=guard,
            others=(kept.prune,),
            as_it_fills=(kept.prune_as_it_fills,),
        )
        forgetting = asyncio.create_task(chores.run_forever())
        try:
            yield DurableStores(
                store=store,
                journal=journal,
                approvals=inbox,
                redactors=SessionRedactors(Detector(build_findings(config.mask, known)), store, key, clock),
                audit=audit,
                session_stores=kept,
                outcomes=promised,
                spent=SpentTokens(store),
                decision_listeners=decided,
                credentials=known,
            )
        finally:
            forgetting.cancel()
            await asyncio.gather(forgetting, return_exceptions=True)
            await audit.close()


def build_findings(mask: MaskConfig, literals: frozenset[str] = frozenset()) -> DetectionTargets:
    """Returns what the detector looks for, by the masking configuration."""
    kinds = frozenset(name for name, wanted in mask.kinds if wanted)
    return DetectionTargets(kinds=kinds, patterns=mask.patterns, names=mask.names, allow=mask.allow, literals=literals)
