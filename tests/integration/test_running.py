"""A run seen from outside: streaming, cancellation, concurrency, recovery."""

import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import ConfigError, SandboxUnavailable
from gristmill.events import CallFinished, CallStarted, Event, OutputWritten
from gristmill.sandbox.jails.jail_pool import LinuxPool
from gristmill.sandbox.linux import process_tree as tree
from tests.conftest import TOOLS
from tests.integration.test_sessions import opened, run


def test_output_arrives_while_the_code_runs(state: Path) -> None:
    async def test() -> None:
        seen = asyncio.Event()
        texts: list[str] = []

        def listen(event: Event) -> None:
            assert isinstance(event, OutputWritten)
            texts.append(event.text)
            seen.set()

        async with opened(state) as runtime:
            # The program waits for a file that appears only after its first line has been heard.
            code = "import os, time\nprint('first')\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\nprint('second')"
            task = asyncio.create_task(runtime.execute(code, session="stream", emit=listen))
            await seen.wait()
            assert texts == ["first\n"]
            (folder,) = (each for each in (state / "workspaces").glob("stream-*") if each.is_dir())
            (folder / "go").touch()
            assert (await task).output == "first\nsecond\n"
        assert "".join(texts) == "first\nsecond\n"

    run(test)


def test_calls_are_announced_and_concluded(state: Path) -> None:
    async def test() -> None:
        events: list[Event] = []
        config = Config(sandbox=SandboxConfig(warm=0), store=StoreConfig(path=state))
        async with Runtime.open(config, tools=TOOLS) as runtime:
            code = "from servers import crm\ncrm.get(1)\ntry:\n    crm.fail()\nexcept Exception:\n    pass"
            outcome = await runtime.execute(code, emit=events.append)
        assert events == [
            CallStarted(execution=outcome.id, call=1, tool="crm.get"),
            CallFinished(execution=outcome.id, call=1, tool="crm.get", ok=True),
            CallStarted(execution=outcome.id, call=2, tool="crm.fail"),
            CallFinished(execution=outcome.id, call=2, tool="crm.fail", ok=False),
        ]

    run(test)


def test_cancellation_ends_the_sandbox(state: Path) -> None:
    async def test() -> None:
        started = asyncio.Event()
        async with opened(state) as runtime:
            code = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\nwhile True: pass"
            task = asyncio.create_task(runtime.execute(code, emit=lambda _: started.set()))
            await started.wait()
            before = tree.list_descendants(os.getpid())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while len(tree.list_descendants(os.getpid())) >= len(before):
                await asyncio.sleep(0.01)

    run(test)


def test_many_callers_are_served_in_order_without_errors(state: Path) -> None:
    async def test() -> None:
        finished: list[int] = []

        async def one(runtime: Runtime, number: int) -> None:
            outcome = await runtime.execute(f"{number}")
            assert (outcome.status, outcome.result) == ("ok", number)
            finished.append(number)

        async with opened(state, concurrency=4) as runtime:
            await asyncio.gather(*[one(runtime, number) for number in range(60)])
        # Served by turns: nobody of the first third comes in after somebody of the last.
        assert max(finished.index(number) for number in range(20)) < min(finished.index(number) for number in range(40, 60))

    run(test)


def test_a_killed_template_is_replaced(state: Path) -> None:
    async def test() -> None:
        before = set(tree.list_children(os.getpid()))
        async with opened(state) as runtime:
            assert (await runtime.execute("1")).result == 1
            (keeper,) = set(tree.list_children(os.getpid())) - before
            for pid in tree.list_descendants(keeper):
                with suppress(ProcessLookupError):  # the first takes the others along
                    os.kill(pid, signal.SIGKILL)
            outcomes = [await runtime.execute("2") for _ in range(2)]
            assert outcomes[-1].result == 2

    run(test)


def test_programs_are_killed_before_the_host_where_memory_runs_out_for_all(state: Path) -> None:
    async def test() -> None:
        before = set(tree.list_children(os.getpid()))
        async with opened(state, warm=1) as runtime:
            await runtime.execute("1")
            (keeper,) = set(tree.list_children(os.getpid())) - before
            below = {Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in tree.list_descendants(keeper)}
            assert below == {"1000"}
        assert Path("/proc/self/oom_score_adj").read_text().strip() != "1000"

    run(test)


@pytest.mark.parametrize("victims", ["children", "template"])
def test_a_pool_whose_processes_were_killed_fills_itself_again(state: Path, victims: str) -> None:
    async def test() -> None:
        before = set(tree.list_children(os.getpid()))

        def below() -> list[int]:
            return [pid for keeper in set(tree.list_children(os.getpid())) - before for pid in tree.list_descendants(keeper)]

        async with opened(state, warm=3) as runtime:
            pool = runtime._rooms.pool  # pyright: ignore[reportPrivateUsage]
            assert isinstance(pool, LinuxPool)
            await pool.wait_until_filled()
            processes = below()
            waiting = {pid for pid in processes if not tree.list_children(pid)}
            assert len(waiting) == 3
            for pid in waiting if victims == "children" else processes[:1]:
                os.kill(pid, signal.SIGKILL)
            while pool.states()["waiting"] < 3 or waiting.intersection(below()):  # nobody has asked for one
                await asyncio.sleep(0.01)
            assert pool.problem is None

    run(test)


def test_what_the_caller_asks_for_is_cut_to_what_the_operator_allows(state: Path) -> None:
    async def test() -> None:
        async with opened(state) as runtime:
            outcome = await runtime.execute("x = bytearray(400 << 20)", limits={"memory_mb": 4_000})
            assert outcome.limit == "memory_mb"
            with pytest.raises(ConfigError):
                await runtime.execute("1", limits={"memory": 1})

    run(test)


def test_required_cgroups_that_are_missing_refuse_to_start(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gristmill.sandbox.linux import cgroups

    def none(_name: str) -> cgroups.CgroupHierarchy:
        return cgroups.CgroupHierarchy("none", reason="not here")

    monkeypatch.setattr(cgroups, "prepare_hierarchy", none)

    async def test() -> None:
        with pytest.raises(SandboxUnavailable, match="Delegate=yes"):
            async with opened(state, cgroups="require"):
                pass

    run(test)


def test_nothing_is_left_when_the_runtime_closes(state: Path) -> None:
    async def test() -> None:
        before = set(tree.list_descendants(os.getpid()))
        async with opened(state) as runtime:
            await runtime.execute("x = 1", session="closing")
        assert set(tree.list_descendants(os.getpid())) <= before

    run(test)
