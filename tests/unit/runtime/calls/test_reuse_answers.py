"""Which answers are used again, and for whom."""

import asyncio
from typing import Any

import pytest

from gristmill.errors import ToolFailed
from gristmill.model import Decision, Execution, Identity, ToolCall, ToolResult
from gristmill.runtime.calls.reuse_answers import MOST_ANSWERS, AnswerCache, ReuseAnswers
from gristmill.runtime.execution.execution_state import ExecutionState


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Server:
    """Counts what it was asked; answers when told to."""

    def __init__(self) -> None:
        self.asked, self.go = 0, asyncio.Event()

    async def __call__(self, call: ToolCall) -> ToolResult:
        self.asked += 1
        await self.go.wait()
        return ToolResult(value=self.asked)


def _layer(cache: AnswerCache, seconds: float = 0.0, session: str = "s", tenant: str = "local") -> Any:
    run = ExecutionState(execution=Execution(id="e", code="", session=session, identity=Identity(tenant=tenant)), root="e")
    layer = ReuseAnswers(run, cache)

    async def call(server: Server, tool: str = "r.find", number: int = 1, **arguments: Any) -> Any:
        run.decisions[number] = Decision(effect="allow", rule="", cache_seconds=seconds, read_only=tool.startswith("r."))
        return (
            await layer(
                ToolCall(id=number, tool=tool, arguments=arguments, session=session, identity=Identity(tenant=tenant)), server
            )
        ).value

    return call


async def _answered(*calls: Any) -> list[Any]:
    return await asyncio.gather(*calls, return_exceptions=True)


def test_identical_reads_under_way_are_sent_once() -> None:
    async def test() -> None:
        server, call = Server(), _layer(AnswerCache())
        waiting = asyncio.gather(*(call(server, number=n, q=1) for n in range(5)), call(server, number=9, q=2))
        await asyncio.sleep(0)
        server.go.set()
        assert len(set((await waiting)[:5])) == 1
        assert server.asked == 2

    asyncio.run(test())


def test_writes_are_sent_each_time() -> None:
    async def test() -> None:
        server, call = Server(), _layer(AnswerCache(), 60)
        server.go.set()
        assert await _answered(*(call(server, "w.send", n, q=1) for n in range(3))) == [1, 2, 3]

    asyncio.run(test())


def test_an_answer_is_used_again_for_as_long_as_the_rule_says() -> None:
    async def test() -> None:
        clock, server = Clock(), Server()
        call = _layer(AnswerCache(clock), 60)
        server.go.set()
        assert [await call(server, number=1, q=1), await call(server, number=2, q=1)] == [1, 1]
        clock.now += 61
        assert await call(server, number=3, q=1) == 2

    asyncio.run(test())


def test_reads_are_counted_as_hits_and_misses() -> None:
    async def test() -> None:
        told: list[bool] = []
        server, call = Server(), _layer(AnswerCache(on_read=told.append), seconds=10.0)
        both = asyncio.create_task(_answered(call(server, number=1), call(server, number=2)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        server.go.set()
        assert (await both, await call(server, number=3), told) == ([1, 1], 1, [False, True, True])

    asyncio.run(test())


def test_without_a_rule_nothing_is_kept() -> None:
    async def test() -> None:
        server, call = Server(), _layer(AnswerCache())
        server.go.set()
        assert [await call(server, number=1, q=1), await call(server, number=2, q=1)] == [1, 2]

    asyncio.run(test())


def test_another_session_gets_its_own_answer() -> None:
    async def test() -> None:
        server, cache = Server(), AnswerCache()
        server.go.set()
        assert [await _layer(cache, 60, "a")(server, q=1), await _layer(cache, 60, "b")(server, q=1)] == [1, 2]

    asyncio.run(test())


@pytest.mark.requirement("T46")
def test_a_tenant_never_gets_the_answer_of_another_whatever_its_session_and_caller_are_called() -> None:
    async def test() -> None:
        server, cache = Server(), AnswerCache()
        acme, evil = (_layer(cache, 60, tenant=tenant) for tenant in ("acme", "evil"))
        under_way = asyncio.create_task(_answered(acme(server, q=1), evil(server, q=1)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        server.go.set()
        await under_way
        assert server.asked == 2
        await acme(server, number=2, q=2)
        await evil(server, number=2, q=2)
        assert server.asked == 4
        await evil(server, number=3, q=2)
        assert server.asked == 4

    asyncio.run(test())


def test_whoever_gives_up_does_not_take_the_answer_from_others() -> None:
    async def test() -> None:
        server, call = Server(), _layer(AnswerCache())
        first, second = (asyncio.create_task(call(server, number=n, q=1)) for n in (1, 2))
        await asyncio.sleep(0.001)
        first.cancel()
        await asyncio.sleep(0.001)
        server.go.set()
        assert await second == 2, "the second asked for itself"
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(test())


def test_a_failure_is_shared_and_not_kept() -> None:
    async def test() -> None:
        call, asked = _layer(AnswerCache(), 60), 0

        async def fails(_call: ToolCall) -> ToolResult:
            nonlocal asked
            asked += 1
            await asyncio.sleep(0)
            raise ToolFailed("no")

        results = await _answered(call(fails, number=1, q=1), call(fails, number=2, q=1))
        assert [type(result) for result in results] == [ToolFailed, ToolFailed]
        assert asked == 1
        await _answered(call(fails, number=3, q=1))
        assert asked == 2

    asyncio.run(test())


def test_only_so_many_answers_are_kept() -> None:
    async def test() -> None:
        server, call = Server(), _layer(AnswerCache(), 60)
        server.go.set()
        for number in range(MOST_ANSWERS + 1):
            await call(server, number=number, q=number)
        before = server.asked
        await call(server, number=MOST_ANSWERS + 2, q=0)
        assert server.asked == before + 1, "the first was dropped"

    asyncio.run(test())
