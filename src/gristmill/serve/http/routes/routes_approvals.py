"""Routes of ``/approvals``: plans that wait for a person's decision. Deciding needs the scope ``approve``."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from msgspec import to_builtins

from gristmill.errors import NotFound
from gristmill.runtime.values.approval_values import Approval
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import ANY_SCOPE, APPROVE
from gristmill.serve.http.run_viewer import build_viewer
from gristmill.serve.http.shapes.api_shapes import ApprovalView, DecisionAsked, PlanDetailsView

ApprovalId = Annotated[str, Path(min_length=1, max_length=128)]


def add_approvals(routes: APIRouter, door: HttpDoor) -> None:
    """Adds the routes of approvals."""

    async def find(id_: str, who: Principal) -> Approval:
        found = await door.runtime.approvals.get(id_, tenant=who.tenant)
        if "approve" not in who.scopes and not build_viewer(who).may_see(found.owner):
            raise NotFound(f"no approval {id_[:80]!r}")
        return found

    @routes.get("/approvals", tags=["approvals"])
    async def approvals(
        who: Annotated[Principal, ANY_SCOPE], pending: bool = True, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
    ) -> list[ApprovalView]:
        """Lists plans, the newest first: your own, or all of your tenant with the scope `approve` or `read`."""
        owner = who.identity if who.scopes.isdisjoint({"approve", "read", "admin"}) else None
        found = await door.runtime.approvals.list(pending_only=pending, limit=limit, owner=owner, tenant=who.tenant)
        return [_build_view(approval) for approval in found]

    @routes.get("/approvals/{id}", tags=["approvals"])
    async def approval(
        id: ApprovalId,  # noqa: A002
        who: Annotated[Principal, ANY_SCOPE],
        values: Annotated[bool, Query(description="Also return the values behind masks; needs the scope `reveal`.")] = False,
    ) -> ApprovalView:
        """Returns one plan, with its program and what its tools do. The beginning of an id suffices if it fits one plan only."""
        if values:
            who.require_scope("reveal")
        found = await find(id, who)
        details = await door.runtime.load_plan_details(found, reveal=values)
        return _build_view(found).model_copy(update={"details": PlanDetailsView.model_validate(to_builtins(details))})

    @routes.post("/approvals/{id}", tags=["approvals"])
    async def decide(id: ApprovalId, asked: DecisionAsked, who: Annotated[Principal, APPROVE]) -> ApprovalView:  # noqa: A002
        """Decides about a plan, once. The decision covers these calls of this execution only; resume the execution afterwards."""
        found = await find(id, who)
        decided = await door.runtime.approvals.decide(found.id, asked.approve, by=who.identity.caller, tenant=who.tenant)
        door.runtime.metrics.count_approval(decided.standing)
        await door.runtime.audit.flush()  # the decision is recorded before it is answered
        return _build_view(decided)


def _build_view(approval: Approval) -> ApprovalView:
    fields = approval.fields()
    del fields["root"], fields["tenant"]
    return ApprovalView.model_validate(fields)
