"""A decision covers the exact calls of its plan, for whoever asked, until it expires, and is made once."""

import json
from dataclasses import replace

import pytest

from gristmill.errors import NotFound, Refused, StoreUnavailable
from gristmill.guard.policy.approvals import PLAN_FORMAT, Approvals, WaitingPlans
from gristmill.model import Identity, Plan, PlannedCall
from tests.unit.guard.conftest import Clock

pytestmark = pytest.mark.anyio

CALLS = tuple(
    PlannedCall(number=n, tool="files.write", arguments={"path": f"{n}.txt"}, rule="default", hash=f"h{n}") for n in (1, 2, 3)
)


async def _ask(approvals: Approvals, root: str = "e1", calls: tuple[PlannedCall, ...] = CALLS) -> Plan:
    return await approvals.submit_plan(calls, root=root, execution=root, session="s", identity=Identity(caller="ann"), seconds=60)


async def _allowed(approvals: Approvals, *, session: str | None = "s", caller: str = "ann") -> list[int]:
    return [
        grant.call.number
        for grant in await approvals.grants("e1", session=session, identity=Identity(caller=caller))
        if grant.allowed
    ]


async def test_a_plan_waits_in_the_inbox_with_its_calls(approvals: Approvals) -> None:
    plan = await _ask(approvals)
    (waiting,) = await approvals.list()
    assert (waiting.id, waiting.standing, waiting.plan.calls) == (plan.id, "pending", CALLS)
    assert await _allowed(approvals) == []


@pytest.mark.parametrize(("approve", "allowed"), [("all", [1, 2, 3]), ("none", []), ([2], [2]), ([3, 1, 3], [1, 3])])
async def test_all_some_or_none_are_allowed(approvals: Approvals, approve: list[int], allowed: list[int]) -> None:
    plan = await _ask(approvals)
    await approvals.decide(plan.id, approve, by="bob")
    assert await _allowed(approvals) == allowed
    assert len(await approvals.grants("e1", session="s", identity=Identity(caller="ann"))) == 3, "a no is a decision too"
    assert await approvals.list() == ()


async def test_a_plan_is_decided_once(approvals: Approvals) -> None:
    plan = await _ask(approvals)
    await approvals.decide(plan.id, "none", by="bob")
    with pytest.raises(Refused):
        await approvals.decide(plan.id, "all", by="bob")
    assert await _allowed(approvals) == []


async def test_a_decision_is_for_the_session_and_the_caller_that_asked(approvals: Approvals) -> None:
    plan = await _ask(approvals)
    await approvals.decide(plan.id, "all", by="bob")
    assert await _allowed(approvals, caller="eve") == []
    assert await _allowed(approvals, session=None) == []


async def test_nobody_can_decide_about_what_has_expired(approvals: Approvals, clock: Clock) -> None:
    plan = await _ask(approvals)
    clock.now += 61
    assert (await approvals.get(plan.id)).standing == "expired"
    assert await approvals.list() == ()
    with pytest.raises(Refused):
        await approvals.decide(plan.id, "all", by="bob")


async def test_those_that_wait_are_counted_with_the_age_of_the_oldest_and_those_about_to_expire(
    approvals: Approvals, clock: Clock
) -> None:
    assert await approvals.count_waiting() == WaitingPlans(pending=0, oldest_seconds=0.0, expiring=0)
    plan = await _ask(approvals)
    clock.now += 44
    await approvals.submit_plan(CALLS, root="e9", execution="e9", session="s", identity=Identity(caller="eve"), seconds=60)
    assert await approvals.count_waiting() == WaitingPlans(pending=2, oldest_seconds=44.0, expiring=0)
    clock.now += 2
    assert await approvals.count_waiting() == WaitingPlans(pending=2, oldest_seconds=46.0, expiring=1)
    await approvals.decide(plan.id, "none", by="bob")
    assert await approvals.count_waiting() == WaitingPlans(pending=1, oldest_seconds=2.0, expiring=0)


async def test_a_decision_expires_with_its_plan(approvals: Approvals, clock: Clock) -> None:
    plan = await _ask(approvals)
    await approvals.decide(plan.id, "all", by="bob")
    clock.now += 61
    assert await _allowed(approvals) == []


async def test_a_clock_that_jumps_back_does_not_bring_a_decision_back_for_others(approvals: Approvals, clock: Clock) -> None:
    plan = await _ask(approvals)
    await approvals.decide(plan.id, [1], by="bob")
    clock.now -= 500
    assert await _allowed(approvals) == [1]


async def test_the_same_question_asked_again_keeps_the_plan_that_a_person_reads(approvals: Approvals, clock: Clock) -> None:
    first = await _ask(approvals)
    clock.now += 10
    again = await approvals.submit_plan(
        CALLS, root="e1", execution="e2", session="s", identity=Identity(caller="ann"), seconds=60
    )
    assert (again.id, again.expires, again.execution) == (first.id, first.expires, "e2")
    await approvals.decide(first.id, [2], by="bob")
    assert await _allowed(approvals) == [2]


async def test_a_plan_that_shows_something_else_is_another_question(approvals: Approvals) -> None:
    first = await _ask(approvals)
    shown = (replace(CALLS[0], diff="-old\n+new"), *CALLS[1:])
    same = await _ask(approvals, calls=shown)  # the difference could not be made in time before
    assert same.id == first.id
    other = await _ask(approvals, calls=(replace(CALLS[0], arguments={"path": "x"}, hash="x"), *CALLS[1:]))
    changed = await _ask(approvals, calls=(replace(CALLS[0], definition="changed"), *CALLS[1:]))
    assert len({first.id, other.id, changed.id}) == 3
    assert [waiting.id for waiting in await approvals.list()] == [changed.id]


async def test_a_changed_difference_is_another_question(approvals: Approvals) -> None:
    first = await _ask(approvals, calls=(replace(CALLS[0], diff="-old\n+new"),))
    second = await _ask(approvals, calls=(replace(CALLS[0], diff="-older\n+new"),))
    assert first.id != second.id


async def test_the_beginning_of_an_id_finds_a_plan_of_the_tenant(approvals: Approvals) -> None:
    plan = await _ask(approvals)
    assert (await approvals.get(plan.id[:9])).id == plan.id
    assert (await approvals.get(plan.id[:9], tenant="local")).id == plan.id
    for text, tenant in ((plan.id[:5], None), (plan.id[:9], "other"), ("ap_zzzz", None), (f"{plan.id[:9]}%", None), ("", None)):
        with pytest.raises(NotFound):
            await approvals.get(text, tenant=tenant)
    decided = await approvals.decide(plan.id[:9], "all", by="bob")
    assert (decided.id, decided.approved) == (plan.id, (1, 2, 3))


async def test_a_beginning_that_fits_two_plans_finds_none(approvals: Approvals, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["abcd00", "abcd11"])

    def _next(_length: int) -> str:
        return next(ids)

    monkeypatch.setattr("gristmill.guard.policy.approvals.secrets.token_hex", _next)
    await _ask(approvals)
    await _ask(approvals, root="e2")
    with pytest.raises(NotFound, match="more than one"):
        await approvals.get("ap_abcd")
    assert (await approvals.get("ap_abcd1")).id == "ap_abcd11"


async def test_asking_about_something_else_withdraws_the_question_before(approvals: Approvals) -> None:
    first, second = await _ask(approvals), await _ask(approvals, calls=CALLS[:2])
    assert [waiting.id for waiting in await approvals.list()] == [second.id]
    with pytest.raises(Refused):
        await approvals.decide(first.id, "all", by="bob")


async def test_a_number_that_is_not_in_the_plan_is_refused(approvals: Approvals) -> None:
    plan = await _ask(approvals)
    with pytest.raises(Refused):
        await approvals.decide(plan.id, [4], by="bob")
    assert (await approvals.get(plan.id)).standing == "pending"


async def test_an_approval_that_does_not_exist_is_not_found(approvals: Approvals) -> None:
    with pytest.raises(NotFound):
        await approvals.decide("ap_none", "all", by="bob")


@pytest.mark.requirement("T48")
async def test_whoever_asks_cannot_decide(approvals: Approvals) -> None:
    plan = await _ask(approvals)
    with pytest.raises(Refused) as refused:
        await approvals.decide(plan.id, "all", by="ann")
    assert (refused.value.rule, await _allowed(approvals)) == ("approval.self", [])


async def test_the_one_user_of_a_local_gateway_asks_and_decides(approvals: Approvals) -> None:
    plan = await approvals.submit_plan(
        CALLS, root="e1", execution="e1", session=None, identity=Identity(caller="local"), seconds=60
    )
    assert (await approvals.decide(plan.id, "all", by="local")).standing == "approved"


async def test_a_tenant_neither_sees_nor_decides_what_another_asks(approvals: Approvals) -> None:
    plan = await approvals.submit_plan(
        CALLS, root="e1", execution="e1", session="s", identity=Identity(tenant="a", caller="ann"), seconds=60
    )
    assert [await approvals.list(tenant="b"), len(await approvals.list(tenant="a"))] == [(), 1]
    for attempt in (approvals.get(plan.id, tenant="b"), approvals.decide(plan.id, "all", by="bob", tenant="b")):
        with pytest.raises(NotFound):
            await attempt
    await approvals.decide(plan.id, "all", by="boss", tenant="a")
    assert await approvals.grants("e1", session="s", identity=Identity(tenant="b", caller="ann")) == ()
    assert len(await approvals.grants("e1", session="s", identity=Identity(tenant="a", caller="ann"))) == 3


async def test_the_latest_decision_comes_first_even_when_the_clock_is_set_back(approvals: Approvals, clock: Clock) -> None:
    first = await _ask(approvals)
    await approvals.decide(first.id, "all", by="boss")
    clock.now -= 500
    second = await _ask(approvals)
    await approvals.decide(second.id, "none", by="boss")
    found = await approvals.grants("e1", session="s", identity=Identity(caller="ann"))
    assert [grant.approval for grant in found] == [second.id] * 3 + [first.id] * 3


async def test_a_plan_of_the_first_release_is_read_and_one_of_a_later_format_is_refused(approvals: Approvals) -> None:
    plan, store = await _ask(approvals), approvals._store  # pyright: ignore[reportPrivateUsage]
    ((text,),) = await store.read("SELECT plan FROM approvals")
    stored = json.loads(str(text))
    assert stored.pop("format") == PLAN_FORMAT
    await store.write(("UPDATE approvals SET plan = ?", (json.dumps(stored),)))
    assert (await approvals.get(plan.id)).plan == plan
    await store.write(("UPDATE approvals SET plan = ?", (json.dumps({**stored, "format": PLAN_FORMAT + 1}),)))
    with pytest.raises(StoreUnavailable, match="use the version that wrote it"):
        await approvals.get(plan.id)
