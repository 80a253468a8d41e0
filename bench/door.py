"""What one `execute_code` costs a client against FastMCP code mode's `execute`, over stdio and in memory: `python -m bench.door`.

Over stdio one client (the SDK's) drives both servers in turns, so that a busy machine slows both. In memory each is driven by its
own kind of client in its own environment. Needs FastMCP's environment (`python -m bench.run` installs it).
Writes `bench/out/door.json`.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from bench import machine
from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server

HERE = Path(__file__).parent
ROOT = HERE.parent
FASTMCP = ROOT / ".tools" / "bench" / "fastmcp" / "bin" / "python"
PEER = HERE / "peers" / "door_fastmcp.py"
WARM_UP = 10
PAUSE = 0.05
"""Seconds between two questions, for both: no agent asks faster."""

OURS = {"empty": "1", "one_call": "from servers.bench import echo\necho(x=1)"}
THEIRS = {"empty": "return 1", "one_call": 'return await call_tool("echo", {"x": 1})'}
MODULE = "def echo(x: int) -> int:\n    return x\n"


def echo(x: int) -> int:
    """The tool."""
    return x


async def _once(client: Client, tool: str, code: str) -> float:
    started = time.perf_counter()
    result = await client.call_tool(tool, {"code": code})
    assert not result.is_error, result.content
    return time.perf_counter() - started


@asynccontextmanager
async def _ours(folder: Path) -> AsyncGenerator[Client]:
    (folder / "bench_echo.py").write_text(MODULE)
    config = folder / "gristmill.toml"
    settings = '[servers.bench]\npython = "bench_echo"\n[policy]\nallow = ["bench.*"]\n[store]\npath = '
    config.write_text(settings + json.dumps(str(folder / "state")) + "\n")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}:{folder}"}
    command = StdioServerParameters(command=sys.executable, args=["-m", "gristmill", "serve", "-c", str(config)], env=env)
    async with Client(command, mode="legacy") as client:
        await client.list_tools()  # else the first call asks for it
        yield client


@asynccontextmanager
async def _theirs() -> AsyncGenerator[Client]:
    command = StdioServerParameters(command=str(FASTMCP), args=[str(PEER), "stdio"], env={"PATH": os.environ["PATH"]})
    async with Client(command, mode="legacy") as client:
        await client.list_tools()
        yield client


async def over_stdio(count: int, folder: Path) -> dict[str, dict[str, list[float]]]:
    """Seconds of each call by kind of program and server."""
    times: dict[str, dict[str, list[float]]] = {name: {"gristmill": [], "fastmcp": []} for name in OURS}
    async with _ours(folder) as ours, _theirs() as theirs:
        for number in range(WARM_UP + count):
            for name in OURS:
                pair = await _once(ours, "execute_code", OURS[name]), await _once(theirs, "execute", THEIRS[name])
                await asyncio.sleep(PAUSE)
                if number >= WARM_UP:
                    times[name]["gristmill"].append(pair[0])
                    times[name]["fastmcp"].append(pair[1])
    return times


async def in_memory(count: int, folder: Path) -> dict[str, dict[str, list[float]]]:
    """The same, each in its own process and without a transport."""
    config = Config.model_validate(
        {"sandbox": SandboxConfig(warm=8), "store": StoreConfig(path=folder / "memory"), "policy": {"allow": ["bench.*"]}}
    )
    ours: dict[str, list[float]] = {name: [] for name in OURS}
    async with Runtime.open(config, tools={"bench.echo": echo}) as runtime:
        door = McpDoor(hall=wrap_runtime(runtime), instructions="")
        async with Client(build_server(door), mode="legacy") as client:
            await client.list_tools()
            for number in range(WARM_UP + count):
                for name, code in OURS.items():
                    seconds = await _once(client, "execute_code", code)
                    await asyncio.sleep(PAUSE)
                    if number >= WARM_UP:
                        ours[name].append(seconds)
    done = subprocess.run([FASTMCP, PEER, "memory", str(count), str(PAUSE)], capture_output=True, text=True, check=True)
    theirs: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return {name: {"gristmill": ours[name], "fastmcp": theirs[name]} for name in OURS}


def summary(times: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    """Medians in ms, and ours divided by theirs."""
    found: dict[str, Any] = {}
    for name, by in times.items():
        ours, theirs = (statistics.median(by[who]) * 1e3 for who in ("gristmill", "fastmcp"))
        found[name] = {"gristmill_ms": round(ours, 3), "fastmcp_ms": round(theirs, 3), "ratio": round(ours / theirs, 3)}
    return found


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        found = {
            "stdio": summary(asyncio.run(over_stdio(count, folder))),
            "memory": summary(asyncio.run(in_memory(count, folder))),
        }
    document = {"machine": machine.describe(), "commit": machine.commit(), "count": count, "bar": 0.6, "figures": found}
    (HERE / "out").mkdir(exist_ok=True)
    (HERE / "out" / "door.json").write_text(json.dumps(document, indent=2))
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
