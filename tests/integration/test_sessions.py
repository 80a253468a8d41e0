"""Kept interpreters: state lives on, can be branched, survives a limit, and is dropped when idle or in the way."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from gristmill import BlockingRuntime, Config, Runtime
from gristmill.config.tree import LimitsConfig, SandboxConfig, StoreConfig
from gristmill.errors import UnknownSession


def test_variables_imports_and_functions_live_on(runtime: BlockingRuntime) -> None:
    first = runtime.execute("import math\nx = 2\ndef f(n):\n    return math.sqrt(n) * x", session="live")
    second = runtime.execute("f(9)", session="live")
    assert (first.state, second.state, second.result) == ("fresh", "kept", 6.0)


def test_without_a_session_nothing_lives_on(runtime: BlockingRuntime) -> None:
    runtime.execute("leak = 1")
    assert runtime.execute("leak").error_type == "NameError"


def test_two_sessions_do_not_see_each_other(runtime: BlockingRuntime) -> None:
    runtime.execute("x = 'one'\nopen('f', 'w').write('one')", session="one")
    other = runtime.execute("import os\n['x' in globals(), os.listdir('.')]", session="two")
    assert other.result == [False, []]


def test_files_survive_the_interpreter(runtime: BlockingRuntime) -> None:
    runtime.execute("open('notes.txt', 'w').write('kept')\nx = 1", session="files")
    runtime.drop_session("files")
    outcome = runtime.execute("['x' in globals(), open('notes.txt').read()]", session="files")
    assert (outcome.state, outcome.result) == ("fresh", [False, "kept"])


def test_branches_continue_independently(runtime: BlockingRuntime) -> None:
    runtime.execute("x = [1]", session="trunk")
    runtime.fork_session("trunk", "branch")
    runtime.execute("x.append('branch')", session="branch")
    runtime.execute("x.append('trunk')", session="trunk")
    branch, trunk = runtime.execute("x", session="branch"), runtime.execute("x", session="trunk")
    assert (branch.state, branch.result, trunk.result) == ("kept", [1, "branch"], [1, "trunk"])


def test_a_session_can_be_forked_more_often_than_it_may_have_processes(runtime: BlockingRuntime) -> None:
    runtime.execute("x = 5", session="bush")
    for number in range(80):
        runtime.fork_session("bush", f"twig-{number}")
        runtime.drop_session(f"twig-{number}")
    assert runtime.execute("x", session="bush").result == 5


def test_a_branch_outlives_its_origin(runtime: BlockingRuntime) -> None:
    runtime.execute("x = 5", session="mother")
    runtime.fork_session("mother", "daughter")
    runtime.drop_session("mother")
    assert runtime.execute("x", session="daughter").result == 5


def test_a_crash_of_one_branch_leaves_the_other_alive(runtime: BlockingRuntime) -> None:
    runtime.execute("x = 5", session="left")
    runtime.fork_session("left", "right")
    crashed = runtime.execute("import ctypes\nctypes.string_at(0)", session="right")
    left = runtime.execute("x", session="left")
    assert (crashed.status, left.state, left.result) == ("crashed", "kept", 5)


def test_a_crash_in_a_session_names_its_signal(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute("import ctypes\nctypes.string_at(0)", session="crash")
    assert (outcome.status, outcome.error) == ("crashed", "Crashed: the process was killed by SIGSEGV")


def test_a_session_without_a_live_interpreter_cannot_be_forked(runtime: BlockingRuntime) -> None:
    with pytest.raises(UnknownSession):
        runtime.fork_session("never-used", "branch-of-nothing")


def test_state_survives_a_time_limit_when_the_code_can_be_interrupted(runtime: BlockingRuntime) -> None:
    runtime.execute("x = 5", session="interrupted", limits={"seconds": 5})
    limited = runtime.execute("import time\nwhile True:\n    time.sleep(0.01)", session="interrupted", limits={"seconds": 0.3})
    after = runtime.execute("x", session="interrupted", limits={"seconds": 5})
    assert (limited.status, limited.limit, after.state, after.result) == ("limited", "seconds", "kept", 5)


def test_state_is_dropped_when_the_code_ignores_the_interrupt(runtime: BlockingRuntime) -> None:
    code = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True:\n    time.sleep(1)"
    limited = runtime.execute(code, session="stubborn", limits={"seconds": 0.3})
    after = runtime.execute("1", session="stubborn")
    assert (limited.limit, after.state) == ("seconds", "fresh")


def test_processes_left_behind_end_with_the_execution(runtime: BlockingRuntime) -> None:
    code = "import subprocess, sys\np = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])"
    runtime.execute(code, session="strays")
    assert runtime.execute("p.wait(10)", session="strays").result == -9


def test_threads_left_behind_stand_still_between_executions(runtime: BlockingRuntime) -> None:
    code = "import threading, time\nn = 0\ndef count():\n    global n\n    while True:\n        n += 1\nthreading.Thread(target=count, daemon=True).start()\nn"
    runtime.execute(code, session="threads")
    first = runtime.execute("time.process_time()", session="threads").result
    for _ in range(20):  # each of these takes a while in which a running thread would burn CPU
        runtime.execute("sum(range(10_000))")
    second = runtime.execute("time.process_time()", session="threads").result
    # The thread runs during the two executions only, whose length is far below that of the twenty between them.
    assert second - first < 0.2


@asynccontextmanager
async def opened(state: Path, **sandbox: Any) -> AsyncGenerator[Runtime]:
    settings: dict[str, Any] = {"warm": 0, **sandbox}
    config = Config(sandbox=SandboxConfig(**settings), store=StoreConfig(path=state))
    async with Runtime.open(config) as runtime:
        yield runtime


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(60):
            await test()

    asyncio.run(limited())


def test_a_session_can_be_held_forked_and_dropped(state: Path) -> None:
    async def test() -> None:
        async with opened(state) as runtime:
            trunk = runtime.session("held")
            await trunk.execute("x = 1")
            branch = await trunk.fork()
            await branch.execute("x += 1")
            assert [(await session.execute("x")).result for session in (trunk, branch)] == [1, 2]
            await branch.drop()
            assert runtime.sessions_kept == ("held",)

    run(test)


def test_an_idle_session_is_dropped(state: Path) -> None:
    async def test() -> None:
        async with opened(state, session_idle_seconds=0.0) as runtime:
            await runtime.execute("x = 1", session="idle")
            while runtime.sessions_kept:
                await asyncio.sleep(0.05)
            assert (await runtime.execute("1", session="idle")).state == "fresh"

    run(test)


def test_the_session_used_longest_ago_makes_room(state: Path) -> None:
    async def test() -> None:
        async with opened(state, sessions_kept=2) as runtime:
            for name in ("a", "b", "c"):
                await runtime.execute("x = 1", session=name)
            assert runtime.sessions_kept == ("b", "c")

    run(test)


def test_memory_pressure_drops_a_session(state: Path) -> None:
    async def test() -> None:
        async with opened(state, sessions_memory_mb=60) as runtime:
            for name in ("fat", "slim"):
                await runtime.execute("x = b'x' * 50_000_000", session=name)
            while runtime.sessions_kept != ("slim",):
                await asyncio.sleep(0.05)

    run(test)


def test_executions_of_one_session_wait_for_each_other(state: Path) -> None:
    async def test() -> None:
        async with opened(state) as runtime:
            outcomes = await asyncio.gather(
                *[runtime.execute("n = globals().get('n', 0) + 1\nn", session="queue") for _ in range(5)]
            )
            assert [outcome.result for outcome in outcomes] == [1, 2, 3, 4, 5]

    run(test)


def test_cancelling_an_execution_keeps_the_sessions_state(state: Path) -> None:
    async def test() -> None:
        started = asyncio.Event()
        async with opened(state) as runtime:
            await runtime.execute("x = 5", session="cancel")
            code = "print('started', flush=True)\nimport time\ntime.sleep(60)"
            task = asyncio.create_task(runtime.execute(code, session="cancel", emit=lambda _: started.set()))
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await runtime.execute("x", session="cancel")).result == 5

    run(test)


def test_the_workspace_on_disk_is_limited_too(state: Path) -> None:
    async def test() -> None:
        limits = LimitsConfig(workspace_mb=2, file_mb=1)
        async with opened(state, limits=limits) as runtime:
            big = await runtime.execute("open('big', 'wb').write(b'x' * 5_000_000)", session="disk")
            assert (big.status, big.limit) == ("limited", "file_mb")
            code = "import time\nfor n in range(60):\n    open(f'f{n}', 'wb').write(b'x' * 100_000)\ntime.sleep(20)"
            many = await runtime.execute(code, session="disk")
            assert (many.status, many.limit) == ("limited", "workspace_mb")

    run(test)


def test_a_session_cancelled_by_a_scope_goes_on_as_it_was(state: Path) -> None:
    async def work() -> tuple[str, object]:
        config = Config(sandbox=SandboxConfig(warm=1), store=StoreConfig(path=state / "cancelled"))
        async with Runtime.open(config) as runtime:
            await runtime.execute("x = 41", session="c")
            with anyio.move_on_after(0.5):
                await runtime.execute("import time\ntime.sleep(60)", session="c")
            outcome = await runtime.execute("x", session="c")
            return outcome.status, outcome.result

    assert asyncio.run(work()) == ("ok", 41)


@pytest.mark.parametrize("used_before", [False, True])
def test_an_execution_whose_session_is_deleted_ends_at_once_and_says_why(state: Path, used_before: bool) -> None:
    config = Config(sandbox=SandboxConfig(warm=0), store=StoreConfig(path=state))

    async def test() -> None:
        # Code that names tools may turn out to be a rehearsal: a branch of the session waits beside it.
        async with Runtime.open(config, tools={"crm.find": lambda: 1}) as runtime:
            if used_before:
                await runtime.execute("1", session="doomed")
            begun = asyncio.Event()
            code = "from servers import crm\ncrm.find()\nprint('begun', flush=True)\nimport time\ntime.sleep(50)"
            execution = asyncio.create_task(runtime.execute(code, session="doomed", emit=lambda _: begun.set()))
            await begun.wait()
            await asyncio.sleep(0.2)  # for the line to be read
            await runtime.delete_session("doomed")
            outcome = await execution
            assert (outcome.status, outcome.error) == ("crashed", "Crashed: its session was ended while it ran")
            assert runtime.sessions_kept == ()
            assert (await runtime.execute("1 + 1", session="doomed")).result == 2

    run(test)
