"""Routes of ``/approvals``: plans that wait for a person's decision. Deciding needs the scope ``approve``."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from msgspec import to_builtins

from gristmill.errors import NotFound
from gristmill.runtime.values.approval_values import Approval, RuleScope, StandingRule, offer_rules
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http.http_door import HttpDoor
from gristmill.serve.http.require_scopes import ANY_SCOPE, APPROVE
from gristmill.serve.http.run_viewer import build_viewer
from gristmill.serve.http.shapes.api_shapes import AlwaysAsked, ApprovalView, DecisionAsked, PlanDetailsView, StandingRuleView

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
        shown = PlanDetailsView.model_validate({**to_builtins(details), "offered_rules": _list_offers(found)})
        return _build_view(found).model_copy(update={"details": shown})

    @routes.post("/approvals/{id}", tags=["approvals"])
    async def decide(id: ApprovalId, asked: DecisionAsked, who: Annotated[Principal, APPROVE]) -> ApprovalView:  # noqa: A002
        """Decides about a plan, once. The decision covers these calls of this execution only; resume the execution afterwards."""
        found = await find(id, who)
        decided = await door.runtime.approvals.decide(found.id, asked.approve, by=who.identity.caller, tenant=who.tenant)
        door.runtime.metrics.count_approval(decided.standing)
        rules = await allow_always(decided, asked.always, who) if asked.always else None
        await door.runtime.audit.flush()  # the decision is recorded before it is answered
        return _build_view(decided).model_copy(update={"rules": rules})

    async def allow_always(decided: Approval, asked: AlwaysAsked, who: Principal) -> list[StandingRuleView]:
        by, inbox = who.identity.caller, door.runtime.approvals
        return [_build_rule_view(rule) for rule in await inbox.allow_always(decided, asked.scope, by=by, tools=asked.tools)]

    @routes.get("/approval-rules", tags=["approvals"])
    async def rules(who: Annotated[Principal, ANY_SCOPE]) -> list[StandingRuleView]:
        """Lists the rules that were made while approving: your own, or all of your tenant with `approve`, `read` or `admin`."""
        owner = who.identity if who.scopes.isdisjoint({"approve", "read", "admin"}) else None
        return [_build_rule_view(rule) for rule in await door.runtime.approvals.rules.list(tenant=who.tenant, owner=owner)]

    @routes.delete("/approval-rules/{id}", status_code=204, tags=["approvals"])
    async def revoke(id: ApprovalId, who: Annotated[Principal, APPROVE]) -> Response:  # noqa: A002
        """Deletes a rule: from now on calls of its tool need approval again."""
        await door.runtime.approvals.rules.revoke(id, by=who.identity.caller, tenant=who.tenant)
        await door.runtime.audit.flush()
        return Response(status_code=204)


def _list_offers(approval: Approval) -> list[dict[str, str]]:
    scopes: tuple[RuleScope, ...] = ("session", "caller")
    return [{"scope": scope, "tool": rule.tool, "text": rule.text} for scope in scopes for rule in offer_rules(approval, scope)]


def _build_rule_view(rule: StandingRule) -> StandingRuleView:
    return StandingRuleView.model_validate(rule.fields())


def _build_view(approval: Approval) -> ApprovalView:
    fields = approval.fields()
    del fields["root"], fields["tenant"]
    return ApprovalView.model_validate(fields)
