"""What a tool call through Gristmill costs against the same call with the SDK's own client: `python -m bench.upstream`.

Three ways of ours: the upstream connection alone, a read through every layer of the gateway, and a write, which is on disk
before it leaves. All talk to the same kind of server, in turns, so that a busy machine slows all. Writes
`bench/out/upstream.json`.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.sections.quota_section import QuotaConfig
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import Config, StoreConfig
from gristmill.model import Execution, ToolCall
from gristmill.runtime.build import open_rooms
from gristmill.upstream.open_upstreams import Surroundings, open_upstreams

HERE = Path(__file__).parent
ROWS = 10_000
NO_LIMITS = QuotaConfig(session_calls_per_minute=0, server_calls_per_minute=0, bytes_per_minute=0)
Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
Row = dict[str, Any]

SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("bench", log_level="ERROR")

@server.tool(annotations={"readOnlyHint": True})
def add(a: int, b: int) -> int:
    return a + b

@server.tool()
def put(a: int, b: int) -> int:
    return a + b

@server.tool(annotations={"readOnlyHint": True})
def rows(n: int) -> list[dict[str, str]]:
    return [{"id": str(i), "name": f"customer {i}", "city": "Bern"} for i in range(n)]

if sys.argv[1:] == ["http"]:
    import socket, uvicorn
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(sock.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", timeout_keep_alive=60)).run(sockets=[sock])
else:
    server.run()
"""


@asynccontextmanager
async def http_server() -> AsyncGenerator[str]:
    process = await anyio.open_process([sys.executable, "-c", SERVER, "http"], stdin=None, stderr=None)
    try:
        assert process.stdout
        yield f"http://127.0.0.1:{int(await process.stdout.receive())}/mcp"
    finally:
        process.kill()
        await process.wait()
        await process.aclose()


@asynccontextmanager
async def direct(target: Any) -> AsyncGenerator[Call]:
    """The SDK's client."""
    async with Client(target) as client:
        yield client.call_tool


@asynccontextmanager
async def upstream(config: ServerConfig) -> AsyncGenerator[Call]:
    """Our connection, without the gateway around it."""
    async with open_upstreams({"s": config}, Surroundings(environ=os.environ)) as upstreams:

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return await upstreams(ToolCall(id=1, tool=f"s.{tool}", arguments=arguments))

        yield call


@asynccontextmanager
async def gateway(config: ServerConfig) -> AsyncGenerator[Call]:
    """As a program's calls go: through every layer, with default settings and the server allowed."""
    with tempfile.TemporaryDirectory() as name:
        settings = Config(
            store=StoreConfig(path=Path(name)), servers={"s": config}, policy=PolicyConfig(allow=("s.*",)), quota=NO_LIMITS
        )
        async with open_rooms(settings, {}) as rooms:
            run = await rooms.intake.begin_run(Execution(id="bench", code=""))
            handler, numbers = rooms.broker.handler(run, rooms.recorder.open_execution(run)), count(1)

            async def call(tool: str, arguments: dict[str, Any]) -> Any:
                return await handler(ToolCall(id=next(numbers), tool=f"s.{tool}", arguments=arguments, execution="bench"))

            yield call


def writing(call: Call) -> Call:
    """The same by way of the tool that is not known to read only."""
    return lambda tool, arguments: call("put" if tool == "add" else tool, arguments)


async def cpu(call: Call, calls: int) -> float:
    """CPU seconds of this process for a small call: hardly disturbed by what else the machine does."""
    start = time.process_time()
    await at_once(call, calls)
    return (time.process_time() - start) / calls


async def one_by_one(call: Call, calls: int) -> float:
    """Median seconds of a small call."""
    times: list[float] = []
    for _ in range(calls):
        start = time.perf_counter()
        await call("add", {"a": 1, "b": 2})
        times.append(time.perf_counter() - start)
    return statistics.median(times)


async def at_once(call: Call, calls: int) -> float:
    """Small calls per second, fifty at a time."""
    start = time.perf_counter()
    left = iter(range(calls))

    async def worker() -> None:
        for number in left:
            await call("add", {"a": 1, "b": number})  # equal reads at the same time would be sent once

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(worker)
    return calls / (time.perf_counter() - start)


async def large(call: Call) -> float:
    """Seconds of one structured result of many rows."""
    start = time.perf_counter()
    await call("rows", {"n": ROWS})
    return time.perf_counter() - start


MEASURES: dict[str, tuple[Callable[..., Awaitable[float]], tuple[int, ...]]] = {
    "call_s": (one_by_one, (100,)),
    "calls_per_s": (at_once, (1_000,)),
    "cpu_s": (cpu, (300,)),
    "large_s": (large, ()),
}


async def measured(calls: dict[str, Call], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Every measure of every way, once per round."""
    found = {way: {key: list[float]() for key in MEASURES} for way in calls}
    for call in calls.values():
        await one_by_one(call, 20)
    for number in range(rounds):
        for key, (measure, arguments) in MEASURES.items():
            # Who goes first finds the machine as another left it: they take turns.
            for way in sorted(calls, reverse=bool(number % 2)):
                found[way][key].append(await measure(calls[way], *arguments))
    return found


async def compare(transport: str, their_target: Any, our_configs: tuple[ServerConfig, ServerConfig], rounds: int) -> list[Row]:
    """Our ways on one transport, each against the SDK's client."""
    async with direct(their_target) as theirs, upstream(our_configs[0]) as alone, gateway(our_configs[1]) as whole:
        ways = {"direct": theirs, "upstream": alone, "gateway, read": whole, "gateway, write": writing(whole)}
        found = await measured(ways, rounds)
    first = found.pop("direct")
    rows: list[Row] = []
    for way, values in found.items():
        row: Row = {"transport": transport, "way": way}
        for key in MEASURES:
            row[key], row[f"direct_{key}"] = statistics.median(values[key]), statistics.median(first[key])
            # Pairs were measured one right after the other, so their ratio is steadier than that of the medians.
            row[f"{key}_ratio"] = statistics.median(ours / sdk for sdk, ours in zip(first[key], values[key], strict=True))
        rows.append(row)
    return rows


async def main(rounds: int) -> list[Row]:
    """Both transports."""
    program = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
    config = ServerConfig(command=sys.executable, args=("-c", SERVER))
    results = await compare("stdio", program, (config, config), rounds)
    async with http_server() as first, http_server() as second, http_server() as third:
        results += await compare("http", first, (ServerConfig(url=second), ServerConfig(url=third)), rounds)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    results = anyio.run(main, parser.parse_args().rounds)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    machine = f"{platform.machine()} {platform.python_version()} {os.cpu_count()} cores"
    report = {"method": __doc__, "machine": machine, "commit": commit, "results": results}
    out = HERE / "out"
    out.mkdir(exist_ok=True)
    (out / "upstream.json").write_text(json.dumps(report, indent=1))
    for row in results:
        line = "{transport}, {way}: a call {call_s_ratio:.2f} x the time, {cpu_s_ratio:.2f} x the CPU; fifty at once "
        line += "{calls_per_s_ratio:.2f} x the throughput; 10,000 rows {large_s_ratio:.2f} x the time"
        print(line.format(**row))
