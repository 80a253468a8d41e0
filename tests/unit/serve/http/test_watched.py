"""Executions that come through another door of the service, on the list of this one."""

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

from gristmill.config.tree import Config, StoreConfig
from gristmill.events import CallFinished, CallStarted, Event
from gristmill.serve.http.http_door import Door, open_door
from gristmill.serve.http.watched import Watched
from gristmill.testing import fake_runtime

OPTIONS: dict[str, Any] = {"execution_id": "e1", "tenant": "acme", "caller": "ann@acme"}


def find(q: str) -> dict[str, str]:
    """A tool."""
    return {"q": q}


def watched(state: Path, use: Any) -> Door:
    """The door after ``use`` has used its runtime from elsewhere."""

    async def run() -> Door:
        config = Config(store=StoreConfig(path=state))
        async with fake_runtime(config, tools={"crm.find": find}, serving=True) as runtime:
            door = open_door(runtime)
            await use(Watched(door))
            await asyncio.sleep(0)  # so that what is done at the end of a task is done
            return door

    return asyncio.run(run())


def test_a_direct_call_of_an_agent_is_listed_heard_and_counted(tmp_path: Path) -> None:
    heard: list[Event] = []

    async def use(runtime: Any) -> None:
        outcome = await runtime.call("crm.find", {"q": "x"}, emit=heard.append, **OPTIONS)
        assert outcome.result == {"q": "x"}

    door = watched(tmp_path, use)
    run = door.runs.peek("e1")
    assert run is not None
    assert (run.tenant, run.caller, run.status, run.code) == ("acme", "ann@acme", "ok", None)
    assert [type(event) for event in heard] == [CallStarted, CallFinished]
    assert door.tallies["acme"].tools == {"crm.find": 1}


def test_whoever_leaves_an_execution_ends_it(tmp_path: Path) -> None:
    async def use(runtime: Any) -> None:
        task = asyncio.create_task(runtime.execute("1", **OPTIONS))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    run = watched(tmp_path, use).runs.peek("e1")
    assert run is not None
    assert run.status == "cancelled"


def test_everything_else_is_the_runtimes_own(tmp_path: Path) -> None:
    async def use(runtime: Any) -> None:
        assert (runtime.isolation, await runtime.list_tools("crm")) == ("namespaces", await runtime._runtime.list_tools("crm"))

    watched(tmp_path, use)


def test_what_a_starting_runtime_imports_in_a_thread_is_there_before_it_starts() -> None:
    code = (
        "import sys; from gristmill.serve.http.mount_mcp import known_mounts; known_mounts(); print('mcp.client' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
