"""``/approvals``: plans that wait for a person. Whoever asked does not answer."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query

from gristmill.errors import NotFound
from gristmill.guard.policy.approvals import Approval
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.api_shapes import ApprovalView, DecisionAsked
from gristmill.serve.http.http_door import Door
from gristmill.serve.http.require_scopes import APPROVE, ASKED
from gristmill.serve.http.runs import may_see

ApprovalId = Annotated[str, Path(min_length=1, max_length=128)]


def add_approvals(routes: APIRouter, door: Door) -> None:
    """The routes of approvals."""

    async def find(id_: str, who: Principal) -> Approval:
        found = await door.runtime.approvals.get(id_, tenant=who.tenant)
        if "approve" not in who.scopes and not may_see(who, found.tenant, found.caller):
            raise NotFound(f"no approval {id_[:80]!r}")
        return found

    @routes.get("/approvals", tags=["approvals"])
    async def approvals(
        who: Annotated[Principal, ASKED], pending: bool = True, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
    ) -> list[ApprovalView]:
        """Plans, the newest first: your own; your tenant's with the scope `approve` or `read`."""
        owner = who.caller if who.scopes.isdisjoint({"approve", "read", "admin"}) else None
        found = await door.runtime.approvals.list(pending_only=pending, limit=limit, caller=owner, tenant=who.tenant)
        return [_view(approval) for approval in found]

    @routes.get("/approvals/{id}", tags=["approvals"])
    async def approval(id: ApprovalId, who: Annotated[Principal, ASKED]) -> ApprovalView:  # noqa: A002
        """One plan."""
        return _view(await find(id, who))

    @routes.post("/approvals/{id}", tags=["approvals"])
    async def decide(id: ApprovalId, asked: DecisionAsked, who: Annotated[Principal, APPROVE]) -> ApprovalView:  # noqa: A002
        """Decide about a plan, once. It covers these calls of this run and nothing else; resume the execution afterwards."""
        await find(id, who)
        decided = await door.runtime.approvals.decide(id, asked.approve, by=who.caller, tenant=who.tenant)
        door.runtime.metrics.approved(decided.standing)
        await door.runtime.audit.flush()  # who decided is kept before it is answered
        return _view(decided)


def _view(approval: Approval) -> ApprovalView:
    fields = asdict(approval)
    del fields["root"], fields["tenant"]
    return ApprovalView.model_validate(fields)
