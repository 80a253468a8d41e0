"""``python -m bench.http``: the service against the library, and against the peer that offers HTTP.

`POST /execute` is held against the same program in process, and `tools/call` at our `/mcp` against the same request to FastMCP's
code mode over streamable HTTP. Everyone is asked by as many askers, in turns, so that a busy machine slows all; then by 1,000 at
once. The service has 8 warm children and runs as `gristmill serve --http` does. Installs the peer's environment if it is missing.
Writes ``bench/out/http.json``.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import install, machine, wire
from bench.figures import PEERS
from bench.wire import ASKERS, crowd, rate, rate_of
from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig

OUT = Path(__file__).parent / "out" / "http.json"
PEER = Path(__file__).parent / "peers" / "door_fastmcp.py"
CODE = "sum(range(10))"
CROWDS = 3
WAYS = ("in_process", "execute", "mcp", "fastmcp")
"""Who is asked: the library, `POST /execute`, our `/mcp`, the peer's."""


@contextmanager
def serving(command: list[str], environment: dict[str, str], folder: Path) -> Generator[tuple[int, str]]:
    """A service: its process, and its address, which is the last word of the first line it says."""
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        yield process.pid, process.stderr.readline().split()[-1]
    finally:
        process.terminate()
        process.wait(60)


async def measure(rounds: int, seconds: float, size: int) -> dict[str, Any]:
    """All rates, in turns, then the crowds."""
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "in").mkdir()
        config = Config(store=StoreConfig(path=folder / "in"), sandbox=SandboxConfig(warm=8))
        ours = {
            "GRISTMILL_STORE__PATH": str(folder), "GRISTMILL_SANDBOX__WARM": "8", "GRISTMILL_SERVE__LOG_LEVEL": "error",
            "PYTHONPATH": str(machine.ROOT / "src"),
        }  # fmt: skip
        peer = install.interpreter(next(peer for peer in PEERS if peer.name == "fastmcp"), print)
        with (
            serving([sys.executable, "-m", "gristmill", "serve", "--http", "--port", "0"], ours, folder) as (pid, url),
            serving([peer, str(PEER), "http"], {}, folder) as (_, theirs),
        ):
            questions = {
                "execute": wire.execute(url, CODE),
                "mcp": wire.tool_call(url, "execute_code", CODE, b'"result":45'),
                "fastmcp": wire.tool_call(theirs, "execute", f"return {CODE}", b'"45"'),
            }
            async with Runtime.open(config, serving=True) as runtime:

                async def inside(_asker: int) -> None:
                    assert (await runtime.execute(CODE)).success

                async def turn(seconds: float) -> dict[str, float]:
                    outside = {way: await rate_of(question, seconds) for way, question in questions.items()}
                    return {"in_process": await rate(inside, seconds), **outside}

                await turn(1.0)
                rates = [await turn(seconds) for _ in range(rounds)]
                crowds: list[dict[str, Any]] = []
                for _ in range(CROWDS):
                    floor = size / await rate(inside, seconds)
                    crowds.append({"in_process_s": floor, **{way: await crowd(asked, size) for way, asked in questions.items()}})
            memory = _rss_mb(pid)
    return {"rates": _rates(rates), "at_once": _at_once(crowds, size), "service_rss_mb": memory}


def _rates(rounds: list[dict[str, float]]) -> dict[str, Any]:
    """Medians, and the two ratios, each taken within a round."""
    return {
        "per_s": {way: round(statistics.median(taken[way] for taken in rounds), 1) for way in WAYS},
        "execute_of_in_process": round(statistics.median(taken["execute"] / taken["in_process"] for taken in rounds), 3),
        "bar_execute_of_in_process": 0.7,
        "mcp_of_fastmcp": round(statistics.median(taken["mcp"] / taken["fastmcp"] for taken in rounds), 3),
    }  # fmt: skip


def _at_once(crowds: list[dict[str, Any]], size: int) -> dict[str, Any]:
    """Medians of the crowds, and the floor: what as many runs take in process, sixteen at a time, right before each."""
    found: dict[str, Any] = {
        "requests": size,
        "bar_p99_s": 5.0,
        "in_process_s_each": [round(one["in_process_s"], 3) for one in crowds],
    }
    for way in WAYS[1:]:
        found[way] = {
            "errors": sum(one[way]["errors"] for one in crowds),
            "p50_s": statistics.median(one[way]["p50_s"] for one in crowds),
            "p99_s": statistics.median(one[way]["p99_s"] for one in crowds),
            "p99_s_each": [one[way]["p99_s"] for one in crowds],
            "p99_of_in_process": round(statistics.median(one[way]["p99_s"] / one["in_process_s"] for one in crowds), 3),
        }
    return found


def _rss_mb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--at-once", type=int, default=1_000)
    asked = parser.parse_args()
    found = asyncio.run(measure(asked.rounds, asked.seconds, asked.at_once))
    document = {"machine": machine.describe(), "commit": machine.commit(), "askers": ASKERS, "program": CODE, **found}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
