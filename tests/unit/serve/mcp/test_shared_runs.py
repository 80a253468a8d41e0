"""One registry for all doors of a process: what runs through MCP is listed, followed, counted and cancelled over HTTP, and back."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from gristmill.config.tree import Config, StoreConfig
from gristmill.model import Identity
from gristmill.runs.active_run import ActiveRun
from gristmill.runs.start_run import RunRequest, begin_execution
from gristmill.serve.http.http_door import HttpDoor, open_door
from gristmill.serve.mcp.door_runs import DoorRuns
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.testing import FakePool, fake_runtime

pytestmark = pytest.mark.anyio

ANN = Identity(tenant="acme", caller="ann@acme")
WAIT_SECONDS = 10


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def find(q: str) -> dict[str, str]:
    """A tool."""
    return {"q": q}


class Gate:
    """A program that waits until it is let through."""

    def __init__(self) -> None:
        self.entered, self.opened = asyncio.Event(), asyncio.Event()

    async def __call__(self, _tools: object) -> str:
        self.entered.set()
        await self.opened.wait()
        return "through"


@asynccontextmanager
async def both_doors(state: Path, gate: Gate) -> AsyncGenerator[tuple[HttpDoor, Client]]:
    """The HTTP door of a runtime, and a client of its MCP door, which is Ann."""
    config = Config(store=StoreConfig(path=state))
    async with fake_runtime(config, FakePool(program=gate), tools={"crm.find": find}, serving=True) as runtime:
        http = open_door(runtime)
        mcp = McpDoor(
            hall=wrap_runtime(runtime), instructions="", direct_calls=True, identify_caller=lambda _: ANN,
            runs=DoorRuns(http.served),
        )  # fmt: skip
        async with asyncio.timeout(WAIT_SECONDS), Client(build_server(mcp)) as client:
            yield http, client
        await mcp.close()


def only_run(door: HttpDoor) -> ActiveRun:
    (run,) = door.runs.list_kept(ANN)
    return run


async def test_a_direct_call_of_an_agent_is_listed_followed_and_counted(tmp_path: Path) -> None:
    async with both_doors(tmp_path, Gate()) as (door, client):
        result: Any = await client.call_tool("call_tool", {"tool": "crm.find", "arguments": {"q": "x"}})
        run = only_run(door)
        events = [event.name async for event in run.events.follow() if event]

    assert result.structured_content["result"] == {"q": "x"}
    assert (run.id, run.identity, run.status, run.code, run.via) == (result.structured_content["id"], ANN, "ok", None, "mcp")
    assert events == ["call_started", "call_finished", "outcome"]
    assert door.served.counts["acme"].tools == {"crm.find": 1}


async def test_what_an_agent_runs_is_cancelled_over_http_and_the_agent_is_told_so(tmp_path: Path) -> None:
    gate = Gate()
    async with both_doors(tmp_path, gate) as (door, client):
        call = asyncio.create_task(client.call_tool("execute_code", {"code": "1"}))
        await gate.entered.wait()
        run = only_run(door)
        assert (run.status, run.code) == ("running", "1")
        run.cancel()
        result: Any = await call

    assert (result.is_error, result.structured_content) == (True, {"status": "cancelled", "id": run.id})
    assert run.status == "cancelled"


async def test_an_agent_that_gives_up_its_call_ends_the_run(tmp_path: Path) -> None:
    gate = Gate()
    async with both_doors(tmp_path, gate) as (door, client):
        call = asyncio.create_task(client.call_tool("execute_code", {"code": "1"}))
        await gate.entered.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        run = only_run(door)
        while run.ended is None:
            await asyncio.sleep(0)

    assert run.status == "cancelled"


async def test_an_agent_waits_for_what_was_begun_over_http(tmp_path: Path) -> None:
    gate = Gate()
    async with both_doors(tmp_path, gate) as (door, client):
        run, _ = await begin_execution(door.served, RunRequest(identity=ANN, code="1", background=True))
        await gate.entered.wait()
        refused: Any = await client.call_tool("execute_code", {"code": "2", "resume": run.id})
        waiting = asyncio.create_task(client.call_tool("execute_code", {"resume": run.id}))
        gate.opened.set()
        result: Any = await waiting
        again: Any = await client.call_tool("execute_code", {"resume": run.id})

    assert (refused.is_error, refused.structured_content["code"]) == (True, "conflict")  # it would run twice at once
    assert (result.structured_content["result"], result.structured_content["id"]) == ("through", run.id)
    assert again.structured_content == result.structured_content


def test_what_a_starting_runtime_imports_in_a_thread_is_there_before_it_starts() -> None:
    code = "import sys; from gristmill.serve.http.mount_mcp import list_mounts; list_mounts(); print('mcp.client' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "True\n"
