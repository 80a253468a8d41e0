"""Which sessions keep their interpreter, decided with a fake pool and a fake clock."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gristmill.errors import Refused, UnknownSession
from gristmill.model import Limits
from gristmill.sandbox.pool.kept_interpreters import KeepRules, KeptInterpreters
from gristmill.testing import FakePool


def workspace() -> Path:
    return Path("/workspace")


RULES = KeepRules(idle_seconds=10, most_interpreters=3, memory_mb=100)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def use(kept: KeptInterpreters, name: str, limits: Limits | None = None, share: str = "") -> None:
    async with kept.use(name, limits or Limits(), workspace, share=share):
        pass


def test_a_session_is_opened_once_and_used_again() -> None:
    pool = FakePool()
    kept = KeptInterpreters(pool, RULES)

    async def test() -> None:
        for _ in range(3):
            await use(kept, "a")

    asyncio.run(test())
    assert (len(pool.opened), kept.names) == (1, ("a",))


def test_limits_that_are_sealed_in_open_a_new_one_and_others_do_not() -> None:
    pool = FakePool()
    kept = KeptInterpreters(pool, RULES)

    async def test() -> None:
        await use(kept, "a", Limits(seconds=1))
        await use(kept, "a", Limits(seconds=2))
        assert len(pool.opened) == 1
        await use(kept, "a", Limits(memory_mb=128))

    asyncio.run(test())
    assert [sandbox.alive for sandbox in pool.opened] == [False, True]


def test_idle_ones_are_dropped() -> None:
    clock, pool = Clock(), FakePool()
    kept = KeptInterpreters(pool, RULES, clock)

    async def test() -> None:
        await use(kept, "old")
        clock.now = 6
        await use(kept, "new")
        clock.now = 11
        await kept.sweep()

    asyncio.run(test())
    assert kept.names == ("new",)


def test_one_in_use_is_never_dropped() -> None:
    clock = Clock()
    kept = KeptInterpreters(FakePool(), RULES, clock)

    async def test() -> None:
        async with kept.use("busy", Limits(), workspace):
            clock.now = 100
            await kept.sweep()
            assert kept.names == ("busy",)

    asyncio.run(test())


def test_one_that_dies_in_use_is_left_to_its_user_until_he_is_done() -> None:
    pool = FakePool()
    kept = KeptInterpreters(pool, RULES)

    async def test() -> None:
        async with kept.use("dying", Limits(), workspace) as lent:
            await lent.sandbox.close()
            await kept.sweep()
            assert kept.names == ("dying",)
        assert kept.names == ()

    asyncio.run(test())


def test_the_one_used_longest_ago_makes_room_for_count_and_for_memory() -> None:
    clock = Clock()
    for pool, expected in ((FakePool(), ("b", "c", "d")), (FakePool(memory_mb=40), ("c", "d"))):
        kept = KeptInterpreters(pool, RULES, clock)

        async def test(kept: KeptInterpreters = kept) -> None:
            for name in "abcd":
                clock.now += 1
                await use(kept, name)

        asyncio.run(test())
        assert kept.names == expected


def test_a_dead_one_is_replaced() -> None:
    pool = FakePool()
    kept = KeptInterpreters(pool, RULES)

    async def test() -> None:
        await use(kept, "a")
        await pool.opened[0].close()
        await use(kept, "a")

    asyncio.run(test())
    assert len(pool.opened) == 2


def test_forks_need_an_origin_and_a_free_name() -> None:
    kept = KeptInterpreters(FakePool(), RULES)

    async def test() -> None:
        with pytest.raises(UnknownSession):
            await kept.fork("a", "b")
        await use(kept, "a")
        await kept.fork("a", "b")
        with pytest.raises(Refused):
            await kept.fork("a", "b")

    asyncio.run(test())
    assert kept.names == ("a", "b")


def test_a_rehearsal_leaves_the_interpreter_as_it_was_before() -> None:
    pool = FakePool()
    kept = KeptInterpreters(pool, RULES)

    async def test() -> None:
        await use(kept, "a")
        async with kept.use("a", Limits(), workspace, undo=lambda: True) as rehearsing:
            pass
        async with kept.use("a", Limits(), workspace) as after:
            assert after.sandbox is not rehearsing.sandbox
            assert (after.sandbox.alive, rehearsing.sandbox.alive) == (True, False)

    asyncio.run(test())
    assert len(pool.opened) == 1, "the branch goes on; nothing is opened anew"


def test_an_execution_that_was_no_rehearsal_keeps_what_it_did() -> None:
    kept = KeptInterpreters(FakePool(), RULES)

    async def test() -> None:
        await use(kept, "a")
        async with kept.use("a", Limits(), workspace, undo=lambda: False) as used:
            pass
        async with kept.use("a", Limits(), workspace) as after:
            assert after.sandbox is used.sandbox

    asyncio.run(test())


def test_a_rehearsal_as_the_first_execution_leaves_nothing() -> None:
    pool = FakePool()
    kept = KeptInterpreters(pool, RULES)

    async def test() -> None:
        async with kept.use("a", Limits(), workspace, undo=lambda: True):
            pass
        assert kept.names == ()

    asyncio.run(test())


def test_of_many_forks_to_one_name_one_succeeds_and_nothing_leaks() -> None:
    kept = KeptInterpreters(FakePool(), RULES)

    async def test() -> None:
        await use(kept, "a")
        answers = await asyncio.gather(*(kept.fork("a", "b") for _ in range(8)), return_exceptions=True)
        assert [type(answer) for answer in answers] == [type(None), *[Refused] * 7]

    asyncio.run(test())
    assert kept.names == ("a", "b")


def test_the_next_user_learns_once_why_the_interpreter_is_a_fresh_one() -> None:
    clock, pool = Clock(), FakePool()
    kept = KeptInterpreters(pool, RULES, clock)

    async def test() -> list[str | None]:
        losses: list[str | None] = []

        async def lose() -> None:
            async with kept.use("a", Limits(), workspace) as lent:
                losses.append(lent.loss)

        await lose()
        clock.now = 11
        await kept.sweep()
        await lose()
        await lose()
        pool.opened[-1].alive, pool.opened[-1].lost = False, "the process was killed by SIGSEGV"
        await lose()
        await kept.drop("a")
        await lose()
        return losses

    losses = asyncio.run(test())
    idle = "it was not used for 10 s (sandbox.session_idle_seconds)"
    assert losses == [None, idle, None, "the process was killed by SIGSEGV", None]


def test_a_rehearsal_as_the_first_execution_loses_no_variables() -> None:
    kept = KeptInterpreters(FakePool(), RULES)

    async def test() -> None:
        async with kept.use("a", Limits(), workspace, undo=lambda: True):
            pass
        async with kept.use("a", Limits(), workspace) as lent:
            assert lent.loss is None

    asyncio.run(test())


@pytest.mark.requirement("T135")
def test_a_tenant_that_opens_many_sessions_drops_its_own_and_no_interpreter_of_another() -> None:
    clock = Clock()
    for pool in (FakePool(), FakePool(memory_mb=40)):
        kept = KeptInterpreters(pool, RULES, clock)

        async def test(kept: KeptInterpreters = kept) -> None:
            await use(kept, "victim", share="modest")
            for number in range(33):
                clock.now += 0.01
                await use(kept, f"flood{number}", share="greedy")

        asyncio.run(test())
        assert "victim" in kept.names
        assert kept.names[-1] == "flood32"  # and its newest, not another of its own


@pytest.mark.requirement("T135")
def test_an_idle_interpreter_of_another_tenant_is_not_dropped_while_those_of_the_greedy_one_are_busy() -> None:
    kept = KeptInterpreters(FakePool(), RULES, Clock())

    async def test() -> None:
        await use(kept, "victim", share="modest")
        async with AsyncExitStack() as busy:
            for number in range(4):
                await busy.enter_async_context(kept.use(f"flood{number}", Limits(), workspace, share="greedy"))
            assert "victim" in kept.names
        await kept.sweep()

    asyncio.run(test())
    assert ("victim" in kept.names, len(kept.names)) == (True, 3)
