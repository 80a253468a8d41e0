"""What must outlive the process, opened as one value: the store, and in it the journal, the inbox, the masks and the audit."""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from gristmill.config.sections.mask_section import MaskConfig
from gristmill.config.tree import Config
from gristmill.guard.mask.detector import Detector, Findings
from gristmill.guard.policy import approvals
from gristmill.guard.policy.approvals import Approval, Approvals
from gristmill.ledger import journal as journals
from gristmill.ledger import kept_outcomes as outcomes
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_rows import AUDIT_TABLES
from gristmill.ledger.journal import Journal
from gristmill.ledger.kept_outcomes import Outcomes
from gristmill.ledger.ledger_keys import derive
from gristmill.ledger.record_seal import Seal
from gristmill.ledger.tokens import spent_tokens as spent
from gristmill.ledger.tokens.spent_tokens import Spent
from gristmill.runtime.execution import session_redactors as redactors
from gristmill.runtime.execution.session_redactors import Redactors
from gristmill.runtime.open import session_stores as keeping
from gristmill.runtime.open.gateway_credentials import credentials
from gristmill.runtime.open.open_approvals import decision_recorder
from gristmill.runtime.open.open_records import ledger_key, open_config_store
from gristmill.runtime.open.session_stores import Keeping, keeping_over
from gristmill.runtime.recording import daily_retention as retention
from gristmill.runtime.recording.daily_retention import Retention
from gristmill.store import serving_processes as instances
from gristmill.store.base import Store
from gristmill.values import dataclass

TABLES = (
    *approvals.TABLES,
    *journals.TABLES,
    *redactors.TABLES,
    *AUDIT_TABLES,
    *keeping.TABLES,
    *spent.TABLES,
    *outcomes.TABLES,
    *instances.TABLES,
    *retention.TABLES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Durable:
    """The store and those who write into it."""

    store: Store
    journal: Journal
    approvals: Approvals
    redactors: Redactors
    audit: Audit
    keeping: Keeping
    outcomes: Outcomes
    spent: Spent
    decided: "Decided"


@dataclass(frozen=True, slots=True)
class Decided:
    """Whoever hears of decisions about plans; others may join."""

    listeners: list[Callable[[Approval], None]]

    def __call__(self, approval: Approval) -> None:
        """Tell them all."""
        for listener in self.listeners:
            listener(approval)


@asynccontextmanager
async def open_durable(config: Config, clock: Callable[[], float] = time.time) -> AsyncGenerator[Durable]:
    """Open all of it; closing keeps what was handed over.

    Raises:
        StoreUnavailable: the store cannot be opened.
        ConfigError: its key cannot be used.
    """
    key, known = ledger_key(config), credentials(config, os.environ) if config.servers else frozenset[str]()
    async with open_config_store(config, TABLES) as store:
        audit = Audit(store, key, config.state_dir, clock=clock)
        decided = Decided([decision_recorder(audit)])
        seal, inbox = Seal(key), Approvals(store, clock, decided)
        journal, promised = Journal(store, seal, clock), Outcomes(store, seal, clock)
        kept = keeping_over(store, config, derive(key, "skills"))
        chores = Retention(
            store=store,
            journal=journal,
            outcomes=promised,
            approvals=inbox,
            audit=audit,
            rules=config.records,
            clock=clock,
            others=(kept.prune,),
        )
        forgetting = asyncio.create_task(chores.for_ever())
        try:
            yield Durable(
                store=store,
                journal=journal,
                approvals=inbox,
                redactors=Redactors(Detector(findings(config.mask, known)), store, key, clock),
                audit=audit,
                keeping=kept,
                outcomes=promised,
                spent=Spent(store),
                decided=decided,
            )
        finally:
            forgetting.cancel()
            await asyncio.gather(forgetting, return_exceptions=True)
            await audit.close()


def findings(mask: MaskConfig, literals: frozenset[str] = frozenset()) -> Findings:
    """What is looked for."""
    kinds = frozenset(name for name, wanted in mask.kinds if wanted)
    return Findings(kinds=kinds, patterns=mask.patterns, names=mask.names, allow=mask.allow, literals=literals)
