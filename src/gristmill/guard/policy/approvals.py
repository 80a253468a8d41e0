"""Plans that wait for a person, and what was decided about them. A decision covers the exact calls of its plan, each once."""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, cast

from gristmill.errors import NotFound, Refused
from gristmill.guard.policy.approval_limits import Patience
from gristmill.model import LOCAL, Json, Plan, PlannedCall
from gristmill.store.base import Row, Store, Transaction, Value
from gristmill.values import dataclass

Standing = Literal["pending", "approved", "denied", "expired"]

TABLES = (
    """CREATE TABLE IF NOT EXISTS approvals (
        id TEXT PRIMARY KEY, root TEXT NOT NULL, execution TEXT NOT NULL, session TEXT, caller TEXT NOT NULL,
        tenant TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL, standing TEXT NOT NULL,
        plan TEXT NOT NULL, approved TEXT NOT NULL, decided_by TEXT, decided DOUBLE PRECISION)""",
    "CREATE INDEX IF NOT EXISTS approvals_root ON approvals (root)",
    "CREATE INDEX IF NOT EXISTS approvals_standing ON approvals (standing, created)",
    "CREATE INDEX IF NOT EXISTS approvals_caller ON approvals (tenant, caller, created)",
)
_COLUMNS = "id, root, execution, session, caller, tenant, created, expires, standing, plan, approved, decided_by, decided"
ENDLESS = Patience()
STEP = 1e-3
"""Seconds between two decisions about one run, at least: their order must survive a clock that is set back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A plan and where it stands; ``approved`` holds the numbers of the calls that may be made."""

    id: str
    root: str
    execution: str
    session: str | None
    caller: str
    tenant: str
    created: float
    expires: float
    standing: Standing
    plan: Plan
    approved: tuple[int, ...] = ()
    decided_by: str | None = None
    decided: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One call that a person decided about: allowed or not, whatever the policy asks."""

    call: PlannedCall
    allowed: bool
    approval: str


class Approvals:
    """The inbox. ``clock`` is wall time: a decision must hold, and expire, on another machine too.

    ``tell`` hears of every decision.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], tell: Callable[["Approval"], None] = lambda _approval: None
    ) -> None:
        self._store, self._clock, self._tell = store, clock, tell

    async def open(
        self, calls: Sequence[PlannedCall], *, root: str, execution: str, session: str | None, caller: str,
        tenant: str = LOCAL, seconds: float, stopped: str | None = None, patience: Patience = ENDLESS,
    ) -> Plan:  # fmt: skip
        """Put a plan into the inbox; whatever the same run asked before is withdrawn, since it is asked anew here.

        Raises:
            Busy: ``caller`` asks more than ``patience`` allows; nothing was changed.
        """
        now = self._clock()
        plan = Plan(
            id=f"ap_{secrets.token_hex(12)}", execution=execution, calls=tuple(calls), expires=now + seconds, stopped=stopped
        )
        text = json.dumps(asdict(plan), separators=(",", ":"))

        def work(transaction: Transaction) -> None:
            patience.check(transaction, root=root, caller=caller, tenant=tenant, now=now)
            transaction.run("UPDATE approvals SET standing = 'expired' WHERE root = ? AND standing = 'pending'", root)
            transaction.run(
                f"INSERT INTO approvals ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?, '[]', NULL, NULL)",  # noqa: S608
                plan.id, root, execution, session, caller, tenant, now, plan.expires, text,
            )  # fmt: skip

        await self._store.change(work)
        return plan

    async def list(
        self, *, pending_only: bool = True, limit: int = 100, caller: str | None = None, tenant: str | None = None
    ) -> tuple[Approval, ...]:
        """The newest first; ``caller`` and ``tenant`` show theirs only."""
        where, values = ["1 = 1"], list[Value]()
        if pending_only:
            where.append("standing = 'pending' AND expires > ?")
            values.append(self._clock())
        for column, wanted in (("caller", caller), ("tenant", tenant)):
            if wanted is not None:
                where.append(f"{column} = ?")
                values.append(wanted)
        sql = f"SELECT {_COLUMNS} FROM approvals WHERE {' AND '.join(where)} ORDER BY created DESC, id LIMIT ?"  # noqa: S608
        return tuple(self._approval(row) for row in await self._store.read(sql, *values, limit))

    async def get(self, approval: str, *, tenant: str | None = None) -> Approval:
        """One approval.

        Raises:
            NotFound: there is none of that id, or it is another tenant's.
        """
        rows = await self._store.read(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", approval)  # noqa: S608
        if not rows or tenant not in (None, rows[0][5]):
            raise NotFound(f"no approval {approval!r}; `gristmill approvals` lists those that wait")
        return self._approval(rows[0])

    async def decide(
        self, approval: str, approve: Literal["all", "none"] | Sequence[int], *, by: str, tenant: str | None = None
    ) -> Approval:
        """Decide about a plan, once and for all.

        Raises:
            NotFound: there is no such approval, or it is another tenant's.
            Refused: it has expired, was decided before, has no call of a given number, or ``by`` is who asks.
        """
        asked = await self.get(approval, tenant=tenant)
        if by == asked.caller and by != LOCAL:
            raise Refused(f"{by} asked for this: somebody else has to decide", rule="approval.self")

        def work(transaction: Transaction) -> Row:
            (row,) = transaction.run(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", approval)  # noqa: S608
            before = self._approval(row)
            if before.standing != "pending":
                raise Refused(
                    f"approval {approval} is {before.standing} already: run the code again to ask anew", rule="approval.once"
                )
            numbers = _chosen(before.plan, approve)
            standing = "approved" if numbers else "denied"
            ((last,),) = transaction.run("SELECT max(decided) FROM approvals WHERE root = ?", before.root)
            now = max(self._clock(), float(last or 0) + STEP)
            transaction.run(
                "UPDATE approvals SET standing = ?, approved = ?, decided_by = ?, decided = ? WHERE id = ?",
                standing, json.dumps(numbers), by, now, approval,
            )  # fmt: skip
            return transaction.run(f"SELECT {_COLUMNS} FROM approvals WHERE id = ?", approval)[0]  # noqa: S608

        decided = self._approval(await self._store.change(work))
        self._tell(decided)
        return decided

    async def grants(self, root: str, *, session: str | None, caller: str, tenant: str = LOCAL) -> tuple[Grant, ...]:
        """What was decided about the run ``root``, for whoever asked, as long as it holds; the latest decision first."""
        sql = f"SELECT {_COLUMNS} FROM approvals WHERE root = ? AND decided IS NOT NULL AND expires > ? ORDER BY decided DESC"  # noqa: S608
        found = [self._approval(row) for row in await self._store.read(sql, root, self._clock())]
        return tuple(
            Grant(call=call, allowed=call.number in approval.approved, approval=approval.id)
            for approval in found
            if (approval.session, approval.caller, approval.tenant) == (session, caller, tenant)
            for call in approval.plan.calls
            if call.needs_approval
        )

    async def prune(self, before: float) -> None:
        """Forget what expired before; that it was decided is in the audit."""
        await self._store.write(("DELETE FROM approvals WHERE expires < ?", (before,)))

    def _approval(self, row: Row) -> Approval:
        values = cast("tuple[Any, ...]", row)
        standing: Standing = values[8]
        if standing == "pending" and values[7] <= self._clock():
            standing = "expired"
        return Approval(
            id=values[0], root=values[1], execution=values[2], session=values[3], caller=values[4], tenant=values[5],
            created=values[6], expires=values[7], standing=standing, plan=_plan(json.loads(values[9])),
            approved=tuple(json.loads(values[10])), decided_by=values[11], decided=values[12],
        )  # fmt: skip


def _plan(found: Mapping[str, Json]) -> Plan:
    return replace(Plan(**found), calls=tuple(PlannedCall(**call) for call in found["calls"]))


def _chosen(plan: Plan, approve: Literal["all", "none"] | Sequence[int]) -> list[int]:
    asked = [call.number for call in plan.calls if call.needs_approval]
    if approve == "all":
        return asked
    if approve == "none":
        return []
    if unknown := sorted(set(approve) - {call.number for call in plan.calls}):
        raise Refused(f"the plan has no call {unknown[0]} to approve; it has {asked}", rule="approval.numbers")
    return sorted(set(approve) & set(asked))
