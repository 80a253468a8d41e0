"""Which sessions keep their interpreter, decided with a fake pool and a fake clock."""

import asyncio
from pathlib import Path

import pytest

from gristmill.errors import Refused, UnknownSession
from gristmill.model import Limits
from gristmill.sandbox.pool.kept_interpreters import KeepRules, Kept
from gristmill.testing import FakePool


def workspace() -> Path:
    return Path("/workspace")


RULES = KeepRules(idle_seconds=10, most=3, memory_mb=100)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def use(kept: Kept, name: str, limits: Limits | None = None) -> None:
    async with kept.use(name, limits or Limits(), workspace):
        pass


def test_a_session_is_opened_once_and_used_again() -> None:
    pool = FakePool()
    kept = Kept(pool, RULES)

    async def test() -> None:
        for _ in range(3):
            await use(kept, "a")

    asyncio.run(test())
    assert (len(pool.opened), kept.names) == (1, ("a",))


def test_limits_that_are_sealed_in_open_a_new_one_and_others_do_not() -> None:
    pool = FakePool()
    kept = Kept(pool, RULES)

    async def test() -> None:
        await use(kept, "a", Limits(seconds=1))
        await use(kept, "a", Limits(seconds=2))
        assert len(pool.opened) == 1
        await use(kept, "a", Limits(memory_mb=128))

    asyncio.run(test())
    assert [sandbox.alive for sandbox in pool.opened] == [False, True]


def test_idle_ones_are_dropped() -> None:
    clock, pool = Clock(), FakePool()
    kept = Kept(pool, RULES, clock)

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
    kept = Kept(FakePool(), RULES, clock)

    async def test() -> None:
        async with kept.use("busy", Limits(), workspace):
            clock.now = 100
            await kept.sweep()
            assert kept.names == ("busy",)

    asyncio.run(test())


def test_one_that_dies_in_use_is_left_to_its_user_until_he_is_done() -> None:
    pool = FakePool()
    kept = Kept(pool, RULES)

    async def test() -> None:
        async with kept.use("dying", Limits(), workspace) as sandbox:
            await sandbox.close()
            await kept.sweep()
            assert kept.names == ("dying",)
        assert kept.names == ()

    asyncio.run(test())


def test_the_one_used_longest_ago_makes_room_for_count_and_for_memory() -> None:
    clock = Clock()
    for pool, expected in ((FakePool(), ("b", "c", "d")), (FakePool(memory_mb=40), ("c", "d"))):
        kept = Kept(pool, RULES, clock)

        async def test(kept: Kept = kept) -> None:
            for name in "abcd":
                clock.now += 1
                await use(kept, name)

        asyncio.run(test())
        assert kept.names == expected


def test_a_dead_one_is_replaced() -> None:
    pool = FakePool()
    kept = Kept(pool, RULES)

    async def test() -> None:
        await use(kept, "a")
        await pool.opened[0].close()
        await use(kept, "a")

    asyncio.run(test())
    assert len(pool.opened) == 2


def test_forks_need_an_origin_and_a_free_name() -> None:
    kept = Kept(FakePool(), RULES)

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
    kept = Kept(pool, RULES)

    async def test() -> None:
        await use(kept, "a")
        async with kept.use("a", Limits(), workspace, undo=lambda: True) as rehearsing:
            pass
        async with kept.use("a", Limits(), workspace) as after:
            assert after is not rehearsing
            assert (after.alive, rehearsing.alive) == (True, False)

    asyncio.run(test())
    assert len(pool.opened) == 1, "the branch goes on; nothing is opened anew"


def test_an_execution_that_was_no_rehearsal_keeps_what_it_did() -> None:
    kept = Kept(FakePool(), RULES)

    async def test() -> None:
        await use(kept, "a")
        async with kept.use("a", Limits(), workspace, undo=lambda: False) as used:
            pass
        async with kept.use("a", Limits(), workspace) as after:
            assert after is used

    asyncio.run(test())


def test_a_rehearsal_as_the_first_execution_leaves_nothing() -> None:
    pool = FakePool()
    kept = Kept(pool, RULES)

    async def test() -> None:
        async with kept.use("a", Limits(), workspace, undo=lambda: True):
            pass
        assert kept.names == ()

    asyncio.run(test())
