"""Records searches: who asked what, what was found, and what that cost."""

from collections.abc import Callable

from msgspec import Struct

from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.tokens.spent_records import SpentSearch, name_conversation
from gristmill.model import Identity, ToolCall
from gristmill.runtime.execution.session_redactors import SessionRedactors
from gristmill.runtime.recording.token_accounts import TokenAccounts
from gristmill.runtime.tools.discovery import SearchAnswer

MASK_SCOPE = "run searches"
"""The scope of masks in queries. It belongs to no session: such masks are never restored, and deleted with those of old runs."""


class SearchRecorder(Struct, frozen=True, kw_only=True):
    """Records what was searched for. Queries are masked, because they are content."""

    audit: Audit
    accounts: TokenAccounts
    redactors: SessionRedactors
    clock: Callable[[], float]

    async def record_search(
        self, found: SearchAnswer, *, session: str | None, identity: Identity, conversation: str | None = None,
        for_person: bool = False,
    ) -> None:  # fmt: skip
        """Records a search. The answer to a model is counted; what a person looks up costs no tokens."""
        record = await self._build_record(found, session=session, caller=identity.caller, conversation=conversation)
        keys = list(record.found)
        self.audit.record(
            AuditRecord(
                kind="search",
                id=f"search/{record.at:.6f}",
                time=record.at,
                tenant=identity.tenant,
                session=session,
                caller=identity.caller,
                status="ok" if keys else "nothing",
                bytes=len(found.text),
                details={"query": record.query, "found": [*keys]},
            )
        )
        if not for_person:
            self.accounts.count_search(identity.tenant, record, found.text)

    async def record_code_search(self, call: ToolCall, found: SearchAnswer) -> None:
        """Counts a search that code made: its call is recorded already, and its answer costs a model nothing."""
        record = await self._build_record(found, session=call.session, caller=call.identity.caller, in_code=True)
        self.accounts.count_search(call.identity.tenant, record, "")

    async def _build_record(
        self, found: SearchAnswer, *, session: str | None, caller: str, conversation: str | None = None, in_code: bool = False
    ) -> SpentSearch:
        redactor = await self.redactors.get_redactor(MASK_SCOPE, is_new=False)
        return SpentSearch(
            conversation=name_conversation(conversation=conversation, session=session), session=session, caller=caller,
            at=self.clock(), query=redactor.mask_text(found.query),
            found=tuple(hit.tool.key for hit in found.hits), in_code=in_code,
        )  # fmt: skip
