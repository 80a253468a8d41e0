"""Searches go on record too: who asked what, what was found, and what that cost."""

from collections.abc import Callable

from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.tokens.spent_records import SearchRecord
from gristmill.model import ToolCall
from gristmill.runtime.execution.session_redactors import Redactors
from gristmill.runtime.recording.token_accounts import Accounts
from gristmill.runtime.tools.discovery import Found
from gristmill.values import dataclass

SCOPE = "run searches"
"""Masks of queries belong to no session: they are never restored, and forgotten with those of old runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searches:
    """Keeps what was searched for. Queries are masked: they are content."""

    audit: Audit
    accounts: Accounts
    redactors: Redactors
    clock: Callable[[], float]

    async def asked(self, found: Found, *, session: str | None, caller: str, tenant: str) -> None:
        """A search whose answer goes to a model."""
        record = await self._record(found, session=session, caller=caller)
        keys = list(record.found)
        self.audit.record(
            AuditRecord(
                kind="search",
                id=f"search/{record.at:.6f}",
                time=record.at,
                tenant=tenant,
                session=session,
                caller=caller,
                status="ok" if keys else "nothing",
                bytes=len(found.text),
                details={"query": record.query, "found": [*keys]},
            )
        )
        self.accounts.search(tenant, record, found.text)

    async def by_code(self, call: ToolCall, found: Found) -> None:
        """A search that code made: its call is on record already, and its answer costs a model nothing."""
        record = await self._record(found, session=call.session, caller=call.caller, in_code=True)
        self.accounts.search(call.tenant, record, "")

    async def _record(self, found: Found, *, session: str | None, caller: str, in_code: bool = False) -> SearchRecord:
        redactor = await self.redactors.of(SCOPE, is_new=False)
        return SearchRecord(
            session=session, caller=caller, at=self.clock(), query=redactor.mask_text(found.query),
            found=tuple(hit.tool.key for hit in found.hits), in_code=in_code,
        )  # fmt: skip
