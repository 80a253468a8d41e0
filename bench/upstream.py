"""What a call through our upstream costs against the same call with the SDK's client: `python -m bench.upstream`.

Both talk to the same kind of server, in turns, so that a busy machine slows both. Writes `bench/out/upstream.json`.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from gristmill.config_servers import ServerConfig
from gristmill.model import ToolCall
from gristmill.upstream.build import World, open_upstreams

HERE = Path(__file__).parent
ROWS = 10_000
Call = Callable[[str, dict[str, Any]], Awaitable[Any]]

SERVER = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("bench", log_level="ERROR")

@server.tool()
def add(a: int, b: int) -> int:
    return a + b

@server.tool()
def rows(n: int) -> list[dict[str, str]]:
    return [{"id": str(i), "name": f"customer {i}", "city": "Bern"} for i in range(n)]

if sys.argv[1:] == ["http"]:
    import socket, uvicorn
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(sock.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[sock])
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
    async with Client(target) as client:
        yield client.call_tool


@asynccontextmanager
async def ours(config: ServerConfig) -> AsyncGenerator[Call]:
    async with open_upstreams({"s": config}, World(environ=os.environ)) as upstreams:

        async def call(tool: str, arguments: dict[str, Any]) -> Any:
            return await upstreams(ToolCall(id=1, tool=f"s.{tool}", arguments=arguments))

        yield call


async def cpu(call: Call, count: int) -> float:
    """CPU seconds of this process for a small call: hardly disturbed by what else the machine does."""
    start = time.process_time()
    await at_once(call, count)
    return (time.process_time() - start) / count


async def one_by_one(call: Call, count: int) -> float:
    """Median seconds of a small call."""
    times: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        await call("add", {"a": 1, "b": 2})
        times.append(time.perf_counter() - start)
    return statistics.median(times)


async def at_once(call: Call, count: int) -> float:
    """Small calls per second, fifty at a time."""
    start = time.perf_counter()
    left = iter(range(count))

    async def worker() -> None:
        for _ in left:
            await call("add", {"a": 1, "b": 2})

    async with anyio.create_task_group() as tasks:
        for _ in range(50):
            tasks.start_soon(worker)
    return count / (time.perf_counter() - start)


async def large(call: Call) -> float:
    """Seconds of one structured result of many rows."""
    start = time.perf_counter()
    await call("rows", {"n": ROWS})
    return time.perf_counter() - start


async def compare(name: str, their_target: Any, our_config: ServerConfig, rounds: int) -> dict[str, Any]:
    async with direct(their_target) as theirs, ours(our_config) as mine:
        for call in (theirs, mine):
            await one_by_one(call, 20)
        measures: dict[str, tuple[Callable[..., Awaitable[float]], tuple[int, ...]]] = {
            "call_s": (one_by_one, (100,)),
            "calls_per_s": (at_once, (300,)),
            "cpu_s": (cpu, (300,)),
            "large_s": (large, ()),
        }
        found: dict[str, list[list[float]]] = {key: [[], []] for key in measures}
        for _ in range(rounds):
            for key, (measure, arguments) in measures.items():
                for values, call in zip(found[key], (theirs, mine), strict=True):
                    values.append(await measure(call, *arguments))
    row: dict[str, Any] = {"transport": name}
    for key, (direct_values, our_values) in found.items():
        row[f"direct_{key}"] = statistics.median(direct_values)
        row[f"our_{key}"] = statistics.median(our_values)
        # Pairs were measured one right after the other, so their ratio is steadier than that of the medians.
        row[f"{key}_ratio"] = statistics.median(b / a for a, b in zip(direct_values, our_values, strict=True))
    return row


async def main(rounds: int) -> list[dict[str, Any]]:
    program = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
    config = ServerConfig(command=sys.executable, args=("-c", SERVER))
    results = [await compare("stdio", program, config, rounds)]
    async with http_server() as first, http_server() as second:
        results.append(await compare("http", first, ServerConfig(url=second), rounds))
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
        line = "{transport}: a call {call_s_ratio:.2f} x the time, {cpu_s_ratio:.2f} x the CPU; fifty at once "
        line += "{calls_per_s_ratio:.2f} x the throughput; 10,000 rows {large_s_ratio:.2f} x the time"
        print(line.format(**row))
