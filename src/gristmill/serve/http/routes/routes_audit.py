"""Routes of ``/audit`` and ``/stats``: what happened in the tenant of the caller."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from msgspec import to_builtins

from gristmill.runs.tenant_counts import TenantCounts
from gristmill.runtime.values.audit_values import AuditFilter
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import OPERATOR, READ
from gristmill.serve.http.shapes.api_shapes import AuditView, StatsView, VerifiedView
from gristmill.serve.http.shapes.documented_as import DocumentedAs
from gristmill.serve.http.shapes.passed_shapes import AuditTreeView

Kind = Literal["execution", "call", "search", "security", "approval", "rollout"]
Word = Annotated[str | None, Query(max_length=200)]
Time = Annotated[float | None, Query(ge=0, le=1e12)]


def add_audit(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of the audit log and of the statistics."""

    @routes.get("/audit", tags=["audit"])
    async def audit(
        who: Annotated[Principal, READ],
        kind: Kind | None = None,
        session: Word = None,
        caller: Word = None,
        tool: Word = None,
        status: Word = None,
        since: Time = None,
        until: Time = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
        after: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    ) -> AuditView:
        """Lists the audit records of your tenant, the newest first."""
        wanted = AuditFilter(
            kind=kind, tenant=who.tenant, session=session, caller=caller, tool=tool, status=status, since=since, until=until
        )
        found = await door.runtime.audit.list(wanted, limit=limit, after=after)
        return AuditView(records=[entry.fields() for entry in found], next=found[-1].seq if len(found) == limit else None)

    @routes.get("/audit/verify", tags=["audit"])
    async def verify(_who: Annotated[Principal, OPERATOR], since: Time = None) -> VerifiedView:
        """Checks that no record of any tenant is missing or changed; with `since` only from that time on, which is quick."""
        await door.runtime.audit.flush()
        return VerifiedView(**to_builtins(await door.runtime.audit.verify(since=since)))

    @routes.get("/audit/{id:path}", tags=["audit"])
    async def record(
        id: Annotated[str, Path(min_length=1, max_length=200)],  # noqa: A002
        who: Annotated[Principal, READ],
    ) -> Annotated[dict[str, object], DocumentedAs(AuditTreeView)]:
        """Returns one record with the records of everything that happened inside it."""
        return (await door.runtime.audit.show(id, tenant=who.tenant)).fields()

    @routes.get("/stats", tags=["audit"])
    async def stats(
        who: Annotated[Principal, READ],
        session: Word = None,
        execution: Word = None,
        conversation: Word = None,
        since: Time = None,
    ) -> StatsView:
        """Returns what your tenant did since the service started, how many of its executions run and wait, and what its work, or
        that of one session, conversation or execution, cost in tokens."""
        tally = door.served.counts.get(who.tenant, TenantCounts())
        spent = await door.runtime.stats(
            tenant=who.tenant, session=session, execution=execution, conversation=conversation, since=since or 0.0
        )
        running, waiting = door.served.lanes.count_running_and_waiting(who.tenant)
        return StatsView(
            since=door.opened, executions=dict(tally.statuses), tools=dict(tally.tools.most_common(100)),
            execution_ms=round(tally.milliseconds, 3), tokens_saved=spent.tokens_saved, running=running, waiting=waiting,
            tokens=to_builtins(spent),
        )  # fmt: skip
