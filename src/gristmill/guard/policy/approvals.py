"""Stores plans that wait for approval, and the decisions. A decision covers exactly the calls of its plan, each of them once."""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from msgspec import Struct, to_builtins

from gristmill.errors import NotFound, Refused, StoreUnavailable
from gristmill.guard.policy.approval_limits import ApprovalLimits
from gristmill.guard.policy.standing_rules import RuleScope, StandingRule, StandingRules, TellRule, ignore_rule
from gristmill.model import LOCAL, Identity, Json, Plan, PlannedCall
from gristmill.store.base import Row, Store, Transaction, Value
from gristmill.store.id_beginning import AFTER_DIGITS, is_beginning
from gristmill.store.tenant_bytes import add_tenant_bytes, build_deletion

Standing = Literal["pending", "approved", "denied", "expired"]

_COLUMNS = "id, root, execution, session, caller, tenant, created, expires, standing, plan, approved, decided_by, decided, space"
NO_LIMITS = ApprovalLimits()
PLAN_FORMAT = 2
"""The format of a stored plan. Plans of 0.1.0 have no number, and otherwise the same fields."""
ID_PREFIX = "ap_"
DECISION_STEP_SECONDS = 1e-3
"""The least number of seconds between two decisions about one run: it keeps their order when the clock is set back."""


class Approval(Struct, frozen=True, kw_only=True):
    """A plan and its state; ``approved`` holds the numbers of the calls that may be made."""

    id: str
    root: str
    execution: str
    session: str | None
    owner: Identity
    created: float
    expires: float
    standing: Standing
    plan: Plan
    approved: tuple[int, ...] = ()
    decided_by: str | None = None
    decided: float | None = None
    space: str | None = None
    """The key of its session, which tells it from a later one of the same name."""

    def fields(self) -> dict[str, Any]:
        """Returns plain JSON; the owner's tenant and caller are fields of their own."""
        found = to_builtins(self)
        owner = found.pop("owner")
        del found["space"]
        return {**found, "caller": owner["caller"], "tenant": owner["tenant"]}


class Grant(Struct, frozen=True, kw_only=True):
    """A person's decision about one call: allowed or not. It goes before the policy's ``ask``."""

    call: PlannedCall
    allowed: bool
    approval: str


class WaitingPlans(Struct, frozen=True, kw_only=True):
    """How many plans of all tenants wait, how long the oldest has, and how many have less than a quarter of their time left."""

    pending: int
    oldest_seconds: float
    expiring: int


class Approvals:
    """The store of plans and decisions. ``clock`` is wall time: a decision must hold, and expire, on another machine, too.

    ``tell`` is called with every decision.
    """

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        tell: Callable[["Approval"], None] = lambda _build_approval: None,
        tell_rule: TellRule = ignore_rule,
    ) -> None:
        self._store, self._clock, self._on_decision = store, clock, tell
        self.rules = StandingRules(store, clock, tell_rule)
        """The rules that were made while approving."""
        self.on_new_plan: Callable[[Approval], None] | None = None
        """Is called with each plan that is new in the inbox."""

    async def submit_plan(
        self, calls: Sequence[PlannedCall], *, root: str, execution: str, session: str | None, identity: Identity,
        seconds: float, stopped: str | None = None, patience: ApprovalLimits = NO_LIMITS,
        space: str | None = None,
    ) -> Plan:  # fmt: skip
        """Stores a plan that waits for approval, and withdraws the earlier plan of the same run, which the new one replaces.

        A run that asks about the same calls again keeps its plan: a person may be reading it. Its id and its time stay.

        Raises:
            Busy: ``identity`` has reached the limits in ``patience``; nothing was changed.
        """
        now = self._clock()
        plan = Plan(
            id=f"{ID_PREFIX}{secrets.token_hex(12)}",
            execution=execution,
            calls=tuple(calls),
            expires=now + seconds,
            stopped=stopped,
        )
        # An address may change, a plan does not.
        shown = {name: value for name, value in to_builtins(plan).items() if name != "url"}
        text = json.dumps({"format": PLAN_FORMAT, **shown}, separators=(",", ":"))

        def insert_plan(transaction: Transaction) -> tuple[Plan, bool]:
            sql = f"SELECT {_COLUMNS} FROM approvals WHERE root = ? AND standing = 'pending' AND expires > ?"  # noqa: S608
            for before in map(self._build_approval, transaction.run(sql, root, now)):
                if _is_same_question(before.plan, plan) and (before.session, before.owner) == (session, identity):
                    return replace(before.plan, execution=execution), False
            patience.check(transaction, root=root, identity=identity, now=now)
            transaction.run("UPDATE approvals SET standing = 'expired' WHERE root = ? AND standing = 'pending'", root)
            patience.make_room(transaction, size=len(text), tenant=identity.tenant, now=now)
            transaction.run(
                f"INSERT INTO approvals ({_COLUMNS}, size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, '[]', NULL, NULL, ?, ?)",  # noqa: S608
                plan.id, root, execution, session, identity.caller, identity.tenant, now, plan.expires, text, space, len(text),
            )  # fmt: skip
            add_tenant_bytes(transaction, identity.tenant, "approvals", len(text))
            return plan, True

        found, is_new = await self._store.change(insert_plan)
        if is_new and self.on_new_plan is not None:
            self.on_new_plan(
                Approval(
                    id=plan.id, root=root, execution=execution, session=session, owner=identity, created=now,
                    expires=plan.expires, standing="pending", plan=plan, space=space,
                )
            )  # fmt: skip
        return found

    async def list(
        self, *, pending_only: bool = True, limit: int = 100, owner: Identity | None = None, tenant: str | None = None
    ) -> tuple[Approval, ...]:
        """Returns approvals, newest first: those of ``owner``, of a whole ``tenant``, or of all tenants."""
        where, values = ["1 = 1"], list[Value]()
        if pending_only:
            where.append("standing = 'pending' AND expires > ?")
            values.append(self._clock())
        if owner is not None:
            where.append("tenant = ? AND caller = ?")
            values += [owner.tenant, owner.caller]
        if tenant is not None:
            where.append("tenant = ?")
            values.append(tenant)
        sql = f"SELECT {_COLUMNS} FROM approvals WHERE {' AND '.join(where)} ORDER BY created DESC, id LIMIT ?"  # noqa: S608
        return tuple(self._build_approval(row) for row in await self._store.read(sql, *values, limit))

    async def count_waiting(self) -> WaitingPlans:
        """Counts the plans that wait, of all tenants."""
        now = self._clock()
        sql = (
            "SELECT count(*), min(created), sum(CASE WHEN (expires - ?) * 4 < expires - created THEN 1 ELSE 0 END)"
            " FROM approvals WHERE standing = 'pending' AND expires > ?"
        )
        ((pending, created, expiring),) = await self._store.read(sql, now, now)
        oldest = 0.0 if created is None else max(0.0, now - float(created))
        return WaitingPlans(pending=int(pending or 0), oldest_seconds=oldest, expiring=int(expiring or 0))

    async def get(self, approval: str, *, tenant: str | None = None) -> Approval:
        """Returns one approval by its id, or by the beginning of its id if no other plan that ``tenant`` has begins so.

        Raises:
            NotFound: there is no approval with that id, or it belongs to another tenant, or several begin so.
        """
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", approval)  # noqa: S608
        if not rows and is_beginning(approval, ID_PREFIX):
            where, values = ("", ()) if tenant is None else (" AND tenant = ?", (tenant,))
            sql = f"SELECT {_COLUMNS} FROM approvals WHERE id > ? AND id < ?{where} ORDER BY id LIMIT 2"  # noqa: S608
            rows = await self._store.read(sql, approval, approval + AFTER_DIGITS, *values)
        if not rows or tenant not in (None, rows[0][5]):
            raise NotFound(f"no approval {approval[:80]!r}; `gristmill approvals` lists the waiting ones")
        if len(rows) > 1:
            raise NotFound(f"more than one approval begins with {approval!r}: write more of its id")
        return self._build_approval(rows[0])

    async def decide(
        self, approval: str, approve: Literal["all", "none"] | Sequence[int], *, by: str, tenant: str | None = None
    ) -> Approval:
        """Records the decision about a plan; it cannot be changed later.

        Raises:
            NotFound: there is no such approval, or it belongs to another tenant.
            Refused: it has expired, was decided before, lacks a call of a given number, or ``by`` is the caller who asked.
        """
        asked = await self.get(approval, tenant=tenant)
        approval = asked.id
        if by == asked.owner.caller and by != LOCAL:
            raise Refused(f"{by} asked for this approval: another person has to decide", rule="approval.self")

        def record_decision(transaction: Transaction) -> Row:
            (row,) = transaction.run(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", approval)  # noqa: S608
            before = self._build_approval(row)
            if before.standing != "pending":
                raise Refused(
                    f"approval {approval} is already {before.standing}: run the code again to ask again", rule="approval.once"
                )
            numbers = _choose_numbers(before.plan, approve)
            standing = "approved" if numbers else "denied"
            ((last,),) = transaction.run("SELECT max(decided) FROM approvals WHERE root = ?", before.root)
            now = max(self._clock(), float(last or 0) + DECISION_STEP_SECONDS)
            transaction.run(
                "UPDATE approvals SET standing = ?, approved = ?, decided_by = ?, decided = ? WHERE id = ?",
                standing, json.dumps(numbers), by, now, approval,
            )  # fmt: skip
            return transaction.run(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", approval)[0]  # noqa: S608

        decided = self._build_approval(await self._store.change(record_decision))
        self._on_decision(decided)
        return decided

    async def allow_always(
        self, approval: Approval, scope: RuleScope, *, by: str, tools: Sequence[str] | None = None
    ) -> tuple[StandingRule, ...]:
        """Makes rules by which calls of ``tools`` (default: of all tools of the approved calls) need no approval from now on.

        Raises:
            Refused: the plan was not approved, approves no call of such a tool, or has no session to make a rule for.
            Busy: the tenant has too many rules.
        """
        offered = {rule.tool: rule.definition for rule in offer_rules(approval, scope)}
        wanted = list(offered) if tools is None else list(dict.fromkeys(tools))
        if unknown := [tool for tool in wanted if tool not in offered]:
            raise Refused(f"no rule can be made for {unknown[0]}: no call of it was approved", rule="approval.always")
        if not wanted:
            raise Refused("no rule can be made: nothing was approved, or the plan has no session", rule="approval.always")
        return await self.rules.make(
            [(tool, offered[tool]) for tool in wanted], owner=approval.owner, approval=approval.id, by=by,
            space=approval.space if scope == "session" else None, session=approval.session if scope == "session" else None,
        )  # fmt: skip

    async def grants(self, root: str, *, session: str | None, identity: Identity) -> tuple[Grant, ...]:
        """Returns the decisions about the run ``root`` that ``identity`` asked for and that have not expired, newest first."""
        sql = f"SELECT {_COLUMNS} FROM approvals WHERE root = ? AND decided IS NOT NULL AND expires > ? ORDER BY decided DESC"  # noqa: S608
        found = [self._build_approval(row) for row in await self._store.read(sql, root, self._clock())]
        return tuple(
            Grant(call=call, allowed=call.number in approval.approved, approval=approval.id)
            for approval in found
            if (approval.session, approval.owner) == (session, identity)
            for call in approval.plan.calls
            if call.needs_approval
        )

    async def prune(self, before: float) -> None:
        """Deletes approvals that expired before the given time; the audit still holds their decisions."""
        await self._store.write(*build_deletion("approvals", "expires < ?", (before,)))

    def _build_approval(self, row: Row) -> Approval:
        values = cast("tuple[Any, ...]", row)
        standing: Standing = values[8]
        if standing == "pending" and values[7] <= self._clock():
            standing = "expired"
        return Approval(
            id=values[0], root=values[1], execution=values[2], session=values[3],
            owner=Identity(caller=values[4], tenant=values[5]), created=values[6], expires=values[7], standing=standing,
            plan=_build_plan(json.loads(values[9])), approved=tuple(json.loads(values[10])),
            decided_by=values[11], decided=values[12], space=values[13],
        )  # fmt: skip


def _build_plan(found: Mapping[str, Json]) -> Plan:
    fields = {name: value for name, value in found.items() if name != "format"}
    if found.get("format", 1) not in (1, PLAN_FORMAT):
        raise StoreUnavailable(
            f"the plan {found.get('id')} has the format {found.get('format')}, and this version of Gristmill reads formats up to "
            f"{PLAN_FORMAT}: use the version that wrote it"
        )
    return replace(Plan(**fields), calls=tuple(PlannedCall(**call) for call in fields["calls"]))


def offer_rules(approval: Approval, scope: RuleScope) -> tuple[StandingRule, ...]:
    """Returns the rules that could be made for a plan: for the tools of calls that were approved, or while it waits may be."""
    if scope == "session" and approval.space is None:
        return ()
    pending = approval.standing == "pending"
    calls = [call for call in approval.plan.calls if call.needs_approval and (pending or call.number in approval.approved)]
    session = approval.session if scope == "session" else None
    return tuple(
        StandingRule(
            id="", owner=approval.owner, space=approval.space, session=session, tool=tool, definition=definition,
            approval=approval.id, created=0.0, made_by="",
        )
        for tool, definition in dict.fromkeys((call.tool, call.definition) for call in calls if call.definition)
    )  # fmt: skip


def _is_same_question(one: Plan, other: Plan) -> bool:
    """Returns whether two plans ask a person the same: the same calls, shown in the same way, ending at the same place.

    A difference that could not be made in time does not count; one that changed does, because it is what the person reads.
    """
    if len(one.calls) != len(other.calls) or one.stopped != other.stopped:
        return False
    pairs = zip(one.calls, other.calls, strict=True)
    return all(
        _describe_call(a, hides_diff=None in (a.diff, b.diff)) == _describe_call(b, hides_diff=None in (a.diff, b.diff))
        for a, b in pairs
    )


def _describe_call(call: PlannedCall, *, hides_diff: bool) -> str:
    return json.dumps(to_builtins(replace(call, diff=None) if hides_diff else call), sort_keys=True)


def _choose_numbers(plan: Plan, approve: Literal["all", "none"] | Sequence[int]) -> list[int]:
    asked = [call.number for call in plan.calls if call.needs_approval]
    if approve == "all":
        return asked
    if approve == "none":
        return []
    if unknown := sorted(set(approve) - {call.number for call in plan.calls}):
        raise Refused(f"the plan has no call {unknown[0]} to approve; it has {asked}", rule="approval.numbers")
    return sorted(set(approve) & set(asked))
