"""Turns, rates and room: who runs next, and who is told to come again."""

import asyncio

import pytest

from gristmill.errors import Busy
from gristmill.runs.fair_lanes import FairLanes, LaneRules, LaneTicket, RequestRates


def lanes(*, places: int = 1, per_tenant: int = 1, waiting: int = 100, seconds: float = 5.0) -> FairLanes:
    return FairLanes(LaneRules(places=places, per_tenant=per_tenant, waiting=waiting, seconds=seconds))


@pytest.mark.requirement("T45")
def test_a_late_tenant_comes_second_not_hundredth() -> None:
    async def play() -> list[str]:
        rooms, served = lanes(), list[str]()

        async def one(ticket: LaneTicket) -> None:
            async with rooms.hold_place(ticket):
                served.append(ticket.tenant)
                await asyncio.sleep(0)

        tickets = [rooms.enter("noisy") for _ in range(100)] + [rooms.enter("quiet")]
        await asyncio.gather(*(one(ticket) for ticket in tickets))
        assert rooms.running == 0
        return served

    served = asyncio.run(play())
    assert served.index("quiet") == 2  # one was at work, one had been granted before it came
    assert len(served) == 101


@pytest.mark.requirement("T45")
def test_one_tenant_never_holds_more_than_its_share() -> None:
    async def play() -> tuple[int, int]:
        rooms = lanes(places=4, per_tenant=2)
        for _ in range(5):
            rooms.enter("noisy")
        rooms.enter("quiet")
        return rooms.count_running_and_waiting("noisy")[0], rooms.count_running_and_waiting("quiet")[0]

    assert asyncio.run(play()) == (2, 1)


@pytest.mark.requirement("T45")
def test_past_the_queue_a_tenant_is_turned_away_and_another_is_not() -> None:
    async def play() -> None:
        rooms = lanes(waiting=1)
        rooms.enter("noisy")
        rooms.enter("noisy")
        with pytest.raises(Busy) as busy:
            rooms.enter("noisy")
        rooms.enter("quiet")
        assert (busy.value.limit, busy.value.retry_after >= 1) == ("serve.waiting", True)

    asyncio.run(play())


def test_whoever_waits_too_long_is_told_so_and_leaves_the_queue() -> None:
    async def play() -> None:
        rooms = lanes(seconds=0.01)
        first = rooms.enter("a")
        late = rooms.enter("a")
        async with rooms.hold_place(first):
            with pytest.raises(Busy):
                async with rooms.hold_place(late):
                    raise AssertionError("not its turn")
        assert rooms.count_running_and_waiting("a") == (0, 0)

    asyncio.run(play())


def test_whoever_gives_up_waiting_frees_the_place_for_the_next() -> None:
    async def play() -> None:
        rooms = lanes()
        first, second, third = (rooms.enter("a") for _ in range(3))

        async def hold(ticket: LaneTicket) -> None:
            async with rooms.hold_place(ticket):
                await asyncio.Event().wait()

        tasks = [asyncio.create_task(hold(ticket)) for ticket in (first, second)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(5), rooms.hold_place(third):
            assert rooms.count_running_and_waiting("a") == (1, 0)
        assert rooms.count_running_and_waiting("a") == (0, 0)

    asyncio.run(play())


def test_a_ticket_that_is_never_used_is_given_up_once() -> None:
    async def play() -> None:
        rooms = lanes()
        first, second = rooms.enter("a"), rooms.enter("a")
        for _ in range(2):
            rooms.leave(first)
        assert rooms.count_running_and_waiting("a") == (1, 0)
        async with rooms.hold_place(second):
            pass
        rooms.leave(second)
        assert (rooms.count_running_and_waiting("a"), rooms.running) == ((0, 0), 0)

    asyncio.run(play())


@pytest.mark.requirement("T45")
def test_whoever_waits_for_a_person_keeps_nobody_waiting_and_gets_a_place_again() -> None:
    async def play() -> list[str]:
        rooms, told, answered = lanes(), list[str](), asyncio.Event()

        async def asking() -> None:
            ticket = tickets.pop(0)
            async with rooms.hold_place(ticket):
                async with rooms.lend_place(ticket):
                    told.append("asked")
                    await answered.wait()
                told.append("goes on")
                assert rooms.count_running_and_waiting("a") == (1, 0)

        async def other() -> None:
            async with rooms.hold_place(tickets.pop(0)):
                told.append("other")
                answered.set()
                await asyncio.sleep(0)
                assert rooms.running == 1

        tickets = [rooms.enter("a"), rooms.enter("b")]
        async with asyncio.timeout(5):
            await asyncio.gather(asking(), other())
        assert rooms.running == 0
        return told

    assert asyncio.run(play()) == ["asked", "other", "goes on"]


def test_whoever_never_answers_leaves_no_place_behind() -> None:
    async def play() -> None:
        rooms = lanes()
        ticket = rooms.enter("a")

        async def asking() -> None:
            async with rooms.hold_place(ticket), rooms.lend_place(ticket):
                await asyncio.Event().wait()

        task = asyncio.create_task(asking())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (rooms.count_running_and_waiting("a"), rooms.running) == ((0, 0), 0)
        async with asyncio.timeout(5), rooms.hold_place(rooms.enter("a")):
            pass

    asyncio.run(play())


def test_a_place_that_does_not_come_in_time_does_not_cost_the_answer_of_a_person() -> None:
    async def play() -> None:
        rooms = lanes(seconds=0.01)
        ticket, blocker = rooms.enter("a"), rooms.enter("b")
        async with rooms.hold_place(ticket):
            async with rooms.lend_place(ticket):
                await blocker.granted
            assert rooms.count_running_and_waiting("a") == (0, 0)
        rooms.leave(blocker)
        assert rooms.running == 0

    asyncio.run(play())


def test_a_bucket_refills_steadily() -> None:
    now = [0.0]
    rates = RequestRates(60, clock=lambda: now[0])
    for _ in range(60):
        rates.count_request("a")
    with pytest.raises(Busy) as busy:
        rates.count_request("a")
    rates.count_request("b")
    now[0] = 1.0
    rates.count_request("a")
    with pytest.raises(Busy):
        rates.count_request("a")
    assert busy.value.retry_after == pytest.approx(1.0)


def test_no_rate_is_no_limit() -> None:
    rates = RequestRates(0)
    for _ in range(1_000):
        rates.count_request("a")
