"""One caller cannot tire the people who decide: so many plans wait at once, so many are asked in an hour."""

from dataclasses import replace

import pytest

from gristmill.errors import Busy
from gristmill.guard.policy.approval_limits import ApprovalLimits
from gristmill.guard.policy.approvals import Approvals
from gristmill.model import Identity, Plan, PlannedCall
from tests.unit.guard.conftest import Clock

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("T48")]

CALL = PlannedCall(number=1, tool="files.write", arguments={}, rule="default", hash="h")
TWO_AT_ONCE, THREE_AN_HOUR = ApprovalLimits(waiting=2), ApprovalLimits(per_hour=3)


async def ask(
    approvals: Approvals, root: str, patience: ApprovalLimits, *, caller: str = "ann", tenant: str = "a", about: str = "h"
) -> Plan:
    return await approvals.submit_plan(
        [replace(CALL, hash=about)],
        root=root,
        execution=root,
        session=None,
        identity=Identity(tenant=tenant, caller=caller),
        seconds=600,
        patience=patience,
    )


async def test_past_the_plans_that_wait_a_caller_is_told_to_have_them_decided(approvals: Approvals) -> None:
    for root in ("e1", "e2"):
        await ask(approvals, root, TWO_AT_ONCE)
    with pytest.raises(Busy, match="2 of your plans already wait") as busy:
        await ask(approvals, "e3", TWO_AT_ONCE)
    assert (busy.value.limit, busy.value.value, busy.value.retry_after) == ("policy.approvals_waiting", 2, 600)
    assert {one.root for one in await approvals.list()} == {"e1", "e2"}


async def test_a_decision_or_the_end_of_a_plan_makes_room(approvals: Approvals, clock: Clock) -> None:
    first = await ask(approvals, "e1", TWO_AT_ONCE)
    await ask(approvals, "e2", TWO_AT_ONCE)
    await approvals.decide(first.id, "none", by="bob")
    await ask(approvals, "e3", TWO_AT_ONCE)
    clock.now += 601
    for root in ("e4", "e5"):
        await ask(approvals, root, TWO_AT_ONCE)


async def test_a_run_that_asks_anew_takes_no_second_place(approvals: Approvals) -> None:
    for root in ("e1", "e2", "e2", "e1"):
        await ask(approvals, root, TWO_AT_ONCE)
    assert len(await approvals.list()) == 2


async def test_asking_anew_is_asking_all_the_same(approvals: Approvals, clock: Clock) -> None:
    for number in range(3):
        await ask(approvals, "e1", THREE_AN_HOUR, about=str(number))
    clock.now += 1_800
    with pytest.raises(Busy) as busy:
        await ask(approvals, "e1", THREE_AN_HOUR, about="more")
    assert (busy.value.limit, busy.value.retry_after) == ("policy.approvals_per_hour", 1_800)
    assert len(await approvals.list(pending_only=False)) == 3, "what was refused withdraws nothing"
    clock.now += 1_801
    await ask(approvals, "e1", THREE_AN_HOUR)


async def test_what_was_decided_counts_within_the_hour(approvals: Approvals) -> None:
    for root in ("e1", "e2", "e3"):
        plan = await ask(approvals, root, THREE_AN_HOUR)
        await approvals.decide(plan.id, "all", by="bob")
    with pytest.raises(Busy):
        await ask(approvals, "e4", THREE_AN_HOUR)


async def test_callers_and_tenants_of_the_same_name_are_counted_apart(approvals: Approvals) -> None:
    for root in ("e1", "e2"):
        await ask(approvals, root, TWO_AT_ONCE)
    await ask(approvals, "e3", TWO_AT_ONCE, caller="bob")
    await ask(approvals, "e4", TWO_AT_ONCE, tenant="b")


async def test_no_limit_is_no_limit(approvals: Approvals) -> None:
    for number in range(40):
        await ask(approvals, f"e{number}", ApprovalLimits())


@pytest.mark.requirement("T134")
async def test_the_plans_of_a_tenant_have_a_limit_of_bytes_and_expired_ones_make_room(approvals: Approvals, clock: Clock) -> None:
    await ask(approvals, "e1", ApprovalLimits())
    ((size,),) = await approvals._store.read("SELECT size FROM approvals")  # pyright: ignore[reportPrivateUsage]
    patience = ApprovalLimits(tenant_bytes=int(str(size)) * 5 // 2)
    await ask(approvals, "e2", patience)
    with pytest.raises(Busy, match="the plans of your tenant") as busy:
        await ask(approvals, "e3", patience)
    assert busy.value.limit == "policy.approvals_mb"
    await ask(approvals, "e1", patience, tenant="b")
    clock.now += 601
    await ask(approvals, "late", patience)
    assert {one.root for one in await approvals.list(tenant="a")} == {"late"}
