"""A program that gives up a slow tool goes on at once: the call is cancelled and on record, and cannot spoil the outcome later."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Outcome, Runtime
from gristmill.events import CallFinished
from gristmill.ledger.audit.audit_entries import AuditFilter

pytestmark = pytest.mark.anyio

GIVES_UP = {
    "wait_for": """
try:
    await asyncio.wait_for(t.slow(), 0.05)
except asyncio.TimeoutError:
    answer = "fallback"
answer""",
    "timeout": """
try:
    async with asyncio.timeout(0.05):
        await t.slow()
except TimeoutError:
    answer = "fallback"
answer""",
    "cancel_and_await": """
task = asyncio.create_task(t.slow())
await asyncio.sleep(0)
task.cancel()
try:
    await task
except asyncio.CancelledError:
    answer = "fallback"
answer""",
    "cancel_as_the_last_line": """
task = asyncio.create_task(t.slow())
await asyncio.sleep(0)
answer = "fallback"
task.cancel()
answer""",
    "cancel_before_it_began": """
await asyncio.sleep(0)
task = asyncio.create_task(t.slow())
task.cancel()
answer = "fallback"
answer""",
    "first_completed": """
tasks = [asyncio.ensure_future(t.slow()), asyncio.ensure_future(t.quick())]
done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
[task.result() for task in done][0]""",
    "first_completed_and_cancelled": """
tasks = [asyncio.create_task(t.slow()), asyncio.create_task(t.quick())]
done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
for task in pending:
    task.cancel()
done.pop().result()""",
    "wait_with_a_timeout_in_asyncio_run": """
async def main():
    done, pending = await asyncio.wait([asyncio.create_task(t.slow())], timeout=0.05)
    return "fallback" if pending else "slow"
asyncio.run(main())""",
    "wait_for_in_asyncio_run": """
async def main():
    try:
        return await asyncio.wait_for(t.slow(), 0.05)
    except asyncio.TimeoutError:
        return "fallback"
asyncio.run(main())""",
    "wait_for_a_thread": """
try:
    await asyncio.wait_for(asyncio.to_thread(t.slow), 0.1)
except asyncio.TimeoutError:
    answer = "fallback"
answer""",
    "wait_for_a_function_in_an_executor": """
def ask_twice():
    try:
        return t.slow()
    except Exception:
        return t.slow()
async def main():
    loop = asyncio.get_running_loop()
    try:
        return await asyncio.wait_for(loop.run_in_executor(None, ask_twice), 0.1)
    except asyncio.TimeoutError:
        return "fallback"
asyncio.run(main())""",
    "a_group_that_fails": """
async def fail():
    await asyncio.sleep(0.05)
    raise ValueError
async def wait():
    await t.slow()
try:
    async with asyncio.TaskGroup() as group:
        group.create_task(wait())
        group.create_task(fail())
except* ValueError:
    answer = "fallback"
answer""",
    "an_alarm": """
import signal
def ring(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    answer = t.slow()
except TimeoutError:
    answer = "fallback"
answer""",
    "an_interrupt": """
import signal, threading
threading.Timer(0.1, signal.pthread_kill, [threading.main_thread().ident, signal.SIGUSR1]).start()
def ring(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, ring)
try:
    answer = t.slow()
except KeyboardInterrupt:
    answer = "fallback"
answer""",
}
HEAD = "import asyncio\nfrom servers import t\n"


class SlowTool:
    """Counts how its calls ended."""

    def __init__(self) -> None:
        self.begun = self.cancelled = 0

    async def slow(self) -> str:
        """Does not answer."""
        self.begun += 1
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "slow"

    async def late_failure(self) -> str:
        """Fails a little later."""
        await asyncio.sleep(0.1)
        raise ValueError("too late to matter")


def quick() -> str:
    """Answers at once."""
    return "fallback"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def tool() -> SlowTool:
    return SlowTool()


@pytest.fixture
async def runtime(tmp_path: Path, tool: SlowTool) -> AsyncIterator[Runtime]:
    sections: dict[str, Any] = {"store": {"path": tmp_path}, "sandbox": {"limits": {"seconds": 20}}}
    tools = {"t.slow": tool.slow, "t.quick": quick, "t.late_failure": tool.late_failure}
    async with Runtime.open(Config.model_validate(sections), tools=tools) as opened:
        yield opened


async def list_statuses(runtime: Runtime, outcome: Outcome) -> list[str]:
    await runtime.audit.flush()
    found = [entry.fields() for entry in await runtime.audit.list(AuditFilter(kind="call"))]
    return sorted(str(one["status"]) for one in found if one["parent"] == outcome.id and one["tool"] == "t.slow")


@pytest.mark.requirement("T59")
@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
@pytest.mark.parametrize("way", GIVES_UP)
async def test_a_call_that_is_given_up_is_left_behind_at_once(runtime: Runtime, tool: SlowTool, way: str, kept: bool) -> None:
    session = way if kept else None
    if kept:
        await runtime.execute("x = 1", session=session)
    seen: list[Any] = []
    outcome = await runtime.execute(HEAD + GIVES_UP[way], session=session, emit=seen.append)
    assert (outcome.status, outcome.result) == ("ok", "fallback"), outcome
    assert tool.cancelled == tool.begun <= 1
    finished = [(one.tool, one.ok, one.abandoned) for one in seen if isinstance(one, CallFinished)]
    assert ("t.slow", False, True) in finished
    assert await list_statuses(runtime, outcome) == ["abandoned"]
    if kept:
        assert (await runtime.execute("x", session=session)).result == 1


@pytest.mark.requirement("T59")
async def test_a_call_that_was_given_up_and_fails_later_does_not_fail_the_program(runtime: Runtime) -> None:
    outcome = await runtime.execute(
        HEAD
        + """
try:
    await asyncio.wait_for(t.late_failure(), 0.01)
except asyncio.TimeoutError:
    pass
await asyncio.sleep(0.3)
'done'"""
    )
    assert (outcome.status, outcome.result) == ("ok", "done"), outcome


async def test_a_call_that_another_part_of_the_program_waits_for_is_not_given_up(runtime: Runtime) -> None:
    outcome = await runtime.execute(
        HEAD
        + """
task = asyncio.create_task(t.late_failure())
try:
    await asyncio.wait_for(asyncio.shield(task), 0.01)
except asyncio.TimeoutError:
    pass
try:
    await task
except Exception as error:
    answer = type(error).__name__
answer"""
    )
    assert (outcome.status, outcome.result) == ("ok", "ToolError"), outcome


async def test_a_call_whose_answer_is_not_used_is_made_all_the_same(runtime: Runtime, tool: SlowTool) -> None:
    # The program never said that it wants no answer: its end, or the end of its loop, cuts off no call.
    for code in (
        "asyncio.create_task(t.late_failure())\nawait asyncio.sleep(0)",
        "async def main(): asyncio.create_task(t.late_failure())\nasyncio.run(main())",
    ):
        outcome = await runtime.execute(HEAD + code)
        assert (outcome.status, outcome.error_type) == ("failed", "ToolError"), outcome
    assert tool.cancelled == 0


async def test_a_call_that_was_given_up_says_so_when_it_is_used_after_all(runtime: Runtime) -> None:
    outcome = await runtime.execute(
        HEAD
        + """
call = t.slow()
try:
    await asyncio.wait_for(call, 0.05)
except asyncio.TimeoutError:
    pass
try:
    await call
except Exception as error:
    answer = error.code
answer"""
    )
    assert (outcome.status, outcome.result) == ("ok", "abandoned"), outcome


async def test_a_signal_handler_that_calls_a_tool_while_the_program_waits_for_one_is_told_so_at_once(runtime: Runtime) -> None:
    outcome = await runtime.execute(
        HEAD
        + """
import signal
def ring(*_):
    try:
        t.quick()
    except RuntimeError as error:
        raise TimeoutError(str(error)) from None
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    t.slow()
except TimeoutError as error:
    answer = str(error)
answer, t.quick()"""
    )
    assert outcome.status == "ok", outcome
    assert outcome.result[0].startswith("a signal handler cannot wait for a tool")
    assert outcome.result[1] == "fallback"
