"""What goes wrong around a write: no call is lost, doubled or left undecided without saying so.

Rooms and store are real; the program is a function here, so that it can be stopped at any point.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.tree import Config
from gristmill.errors import CallRefused, NotFound, StoreUnavailable, UpstreamUnavailable
from gristmill.model import Execution, Json, Outcome, Plan, ToolCall
from gristmill.runtime.runtime import Runtime
from gristmill.testing import CallTool, FakePool, Program, fake_runtime

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Bank:
    """A server whose writes can be counted."""

    paid: list[int] = field(default_factory=list[int])
    dies: bool = False

    async def pay(self, n: int) -> dict[str, int]:
        """Pay."""
        await asyncio.sleep(0)
        self.paid.append(n)
        await asyncio.sleep(0)
        if self.dies:
            raise UpstreamUnavailable("the server ended in the middle of the call")
        return {"paid": n}


async def pay_three(tools: CallTool) -> Json:
    return [await tools("bank.pay", n=n) for n in (1, 2, 3)]


async def all_of(_plan: Plan) -> Any:
    return "all"


@asynccontextmanager
async def hall(path: Path, bank: Bank, program: Program = pay_three, **policy: Any) -> AsyncGenerator[Runtime]:
    config = Config.model_validate({"store": {"path": path}, "policy": {"ask": ["bank.*"], **policy}})
    async with fake_runtime(config, FakePool(program=program), tools={"bank.pay": bank.pay}) as runtime:
        yield runtime


def set_clock(runtime: Runtime, clock: Callable[[], float]) -> None:
    runtime.approvals._clock = clock  # pyright: ignore[reportPrivateUsage]


def lost(outcome: Outcome) -> list[int]:
    assert outcome.plan is not None
    return [call.arguments["n"] for call in outcome.plan.calls if call.was_lost]


@pytest.mark.requirement("P7")
async def test_a_write_whose_server_died_is_said_to_be_unknown_and_asked_about_before_it_is_repeated(tmp_path: Path) -> None:
    bank = Bank(dies=True)
    async with hall(tmp_path, bank) as runtime:
        died = await runtime.execute("1", approve=all_of, execution_id="e")
        assert (died.status, died.error_type, bank.paid) == ("failed", "UpstreamUnavailable", [1])
        bank.dies = False
        asked = await runtime.execute(resume="e")
        assert (asked.status, lost(asked), bank.paid) == ("awaiting_approval", [1], [1])
        done = await runtime.execute(resume="e", approve=all_of)
        assert (done.status, bank.paid) == ("ok", [1, 1, 2, 3]), "the approver took the risk"


@pytest.mark.requirement("T48")
async def test_an_approval_that_expired_is_no_approval(tmp_path: Path) -> None:
    bank = Bank()
    async with hall(tmp_path, bank) as runtime:
        asked = await runtime.execute("1", execution_id="e")
        assert asked.plan is not None
        await runtime.approvals.decide(asked.plan.id, "all", by="boss")
        set_clock(runtime, lambda: time.time() + 3_601)
        again = await runtime.execute(resume="e")
        assert (again.status, bank.paid) == ("awaiting_approval", [])
        assert [one.id for one in await runtime.approvals.list()] == [again.plan.id if again.plan else ""]


async def test_nobody_who_decides_leaves_the_run_waiting(tmp_path: Path) -> None:
    bank = Bank()

    async def never(_plan: Plan) -> Any:
        await asyncio.Event().wait()

    async with hall(tmp_path, bank, approval_minutes=0.0001) as runtime:
        outcome = await runtime.execute("1", approve=never)
        assert (outcome.status, bank.paid) == ("awaiting_approval", [])


async def test_who_decided_first_by_another_way_counts(tmp_path: Path) -> None:
    bank = Bank()

    async with hall(tmp_path, bank) as runtime:

        async def late(plan: Plan) -> Any:
            await runtime.approvals.decide(plan.id, "none", by="boss")
            return "all"

        outcome = await runtime.execute("1", approve=late)
        assert (outcome.status, outcome.error_type, bank.paid) == ("failed", "CallRefused", [])


@pytest.mark.requirement("P7")
async def test_a_write_that_cannot_be_written_down_does_not_leave(tmp_path: Path) -> None:
    bank = Bank()
    async with hall(tmp_path, bank) as runtime:

        async def refuse(_work: object, *, is_brief: bool = False) -> None:
            raise StoreUnavailable("the store refused: database or disk is full")

        desk = runtime._rooms.intake  # pyright: ignore[reportPrivateUsage]
        asked = await runtime.execute("1", execution_id="e")
        assert asked.plan is not None
        await runtime.approvals.decide(asked.plan.id, "all", by="boss")
        whole = desk.store.change
        desk.journal._store.change = refuse  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        try:
            full = await runtime.execute(resume="e", execution_id="full")
        finally:
            desk.journal._store.change = whole  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        assert (full.status, full.error_type, bank.paid) == ("failed", "StoreUnavailable", [])
        done = await runtime.execute(resume="e")
        assert (done.status, bank.paid) == ("ok", [1, 2, 3])


async def test_decisions_keep_their_order_when_the_clock_is_set_back(tmp_path: Path) -> None:
    bank = Bank(dies=True)
    async with hall(tmp_path, bank) as runtime:
        await runtime.execute("1", approve=all_of, execution_id="e")
        bank.dies = False
        set_clock(runtime, lambda: time.time() - 1_000)
        done = await runtime.execute(resume="e", approve=all_of)
        assert (done.status, bank.paid) == ("ok", [1, 1, 2, 3])


async def test_a_deny_rule_that_came_after_the_approval_wins(tmp_path: Path) -> None:
    bank = Bank()
    async with hall(tmp_path, bank) as runtime:
        asked = await runtime.execute("1", execution_id="e")
        assert asked.plan is not None
        await runtime.approvals.decide(asked.plan.id, "all", by="boss")
    async with hall(tmp_path, bank, deny=["bank.pay"]) as runtime:
        outcome = await runtime.execute(resume="e")
    assert (outcome.status, outcome.error_type, bank.paid) == ("failed", "CallRefused", [])


@pytest.mark.requirement("T38", "T48")
async def test_an_approval_is_not_for_a_tool_that_changed_since(tmp_path: Path) -> None:
    bank = Bank()
    async with hall(tmp_path, bank) as runtime:
        asked = await runtime.execute("1", execution_id="e")
        assert asked.plan is not None
        await runtime.approvals.decide(asked.plan.id, "all", by="boss")

    class Other(Bank):
        async def pay(self, n: int, to: str = "eve") -> dict[str, int]:
            """Pay somebody."""
            del to
            return await super().pay(n)

    other = Other()
    async with hall(tmp_path, other) as runtime:
        outcome = await runtime.execute(resume="e")
    assert (outcome.status, other.paid) == ("awaiting_approval", [])


@pytest.mark.requirement("T48")
async def test_an_approval_is_used_by_as_many_calls_as_were_planned(tmp_path: Path) -> None:
    bank, more = Bank(), False

    async def chain(tools: CallTool) -> Json:
        first = await tools("bank.pay", n=7)
        number = first["paid"] if "paid" in first else {"$planned": [*first["$planned"], "paid"]}
        return [await tools("bank.pay", n=number) for _ in range(3 if more else 1)]

    async with hall(tmp_path, bank, chain) as runtime:
        asked = await runtime.execute("1", execution_id="e")
        assert asked.plan is not None
        await runtime.approvals.decide(asked.plan.id, "all", by="boss")
        more = True
        outcome = await runtime.execute(resume="e")
        assert outcome.plan is not None
        assert (outcome.status, bank.paid, len(outcome.plan.calls)) == ("awaiting_approval", [7, 7], 2)


async def test_a_caller_or_tenant_cannot_take_up_what_belongs_to_another(tmp_path: Path) -> None:
    bank = Bank()
    async with hall(tmp_path, bank) as runtime:
        asked = await runtime.execute("1", execution_id="e", caller="ann", tenant="a")
        assert asked.plan is not None
        await runtime.approvals.decide(asked.plan.id, "all", by="boss")
        for caller, tenant in (("bob", "a"), ("ann", "b")):
            with pytest.raises(NotFound):
                await runtime.execute(resume="e", caller=caller, tenant=tenant)
        assert bank.paid == []
        assert await runtime.approvals.list(tenant="b", pending_only=False) == ()


@pytest.mark.requirement("P7")
async def test_two_who_resume_the_same_run_at_once_do_nothing_twice(tmp_path: Path) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    class Slow(Bank):
        async def pay(self, n: int) -> dict[str, int]:
            """Pay."""
            entered.set()
            await go_on.wait()
            return await super().pay(n)

    bank = Slow()
    async with hall(tmp_path, bank) as one, hall(tmp_path, bank) as other:
        asked = await one.execute("1", execution_id="e")
        assert asked.plan is not None
        await one.approvals.decide(asked.plan.id, "all", by="boss")
        second_sees = await other._rooms.intake.begin_run(Execution(id="second", code="1", resume="e"))  # pyright: ignore[reportPrivateUsage]
        assert len(second_sees.grants) == 3
        first = asyncio.create_task(one.execute(resume="e"))
        await asyncio.wait_for(entered.wait(), 5)
        # It looked before the first had sent anything, and comes to send after.
        handler = other._rooms.broker.handler(second_sees, other._rooms.recorder.open_execution(second_sees))  # pyright: ignore[reportPrivateUsage]
        with pytest.raises(CallRefused) as refused:
            await handler(ToolCall(id=1, tool="bank.pay", arguments={"n": 1}, execution="second"))
        go_on.set()
        assert ((await first).status, refused.value.rule, bank.paid) == ("ok", "journal.once", [1, 2, 3])


class CancelledAt:
    """Awaits ``work`` and cancels it, as a caller would, where it waits for the ``number``-th time."""

    def __init__(self, work: Awaitable[Any], number: int) -> None:
        self._work, self._number = work, number
        self.reached = False

    def __await__(self) -> Generator[Any, None, Any]:
        inner = self._work.__await__()
        waits, error = 0, None
        while True:
            try:
                waiting = inner.send(None) if error is None else inner.throw(error)
            except StopIteration as stop:
                return stop.value
            if waits == self._number:
                self.reached = True
                task = asyncio.current_task()
                assert task is not None
                task.cancel()
            waits += 1
            try:
                yield waiting
                error = None
            except BaseException as raised:
                error = raised


@pytest.mark.requirement("P7")
@pytest.mark.parametrize("policy", [{"ask": ["bank.*"]}, {"ask": [], "allow": ["bank.*"]}], ids=["asked", "allowed"])
async def test_cancelled_at_any_point_nothing_is_lost_doubled_or_silently_undecided(tmp_path: Path, policy: Any) -> None:
    bank, said = Bank(), set[int]()

    async def program(tools: CallTool) -> Json:
        for n in (number * 10 + 1, number * 10 + 2):
            try:
                await tools("bank.pay", n=n)
            except CallRefused:
                pass  # whoever looked at the bank knows that it was paid
        return "done"

    async def by_the_books(plan: Plan) -> Any:
        said.update(call.arguments["n"] for call in plan.calls if call.was_lost)
        return [call.number for call in plan.calls if call.arguments["n"] not in bank.paid]

    number, in_doubt = 0, 0
    async with hall(tmp_path, bank, program, **policy) as runtime:
        while True:
            name = f"e{number}"
            cancelled = CancelledAt(runtime.execute("1", approve=by_the_books, execution_id=name), number)
            try:
                await asyncio.create_task(_awaited(cancelled))
            except asyncio.CancelledError:
                pass
            paid_before = [n for n in bank.paid if n // 10 == number]
            said.clear()
            try:
                outcome = await runtime.execute(resume=name, approve=by_the_books)
            except NotFound:
                assert paid_before == [], f"cancelled at {number}: it paid, and nothing is kept of it"
                outcome = await runtime.execute("1", approve=by_the_books)
            assert outcome.result == "done", (number, outcome)
            assert sorted(n for n in bank.paid if n // 10 == number) == [number * 10 + 1, number * 10 + 2], number
            in_doubt += bool(said)
            if not cancelled.reached:
                break
            number += 1
    assert number > 3, "there were points to cancel at"
    assert in_doubt > 2, "and some of them left a call in doubt, which was said"


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work
