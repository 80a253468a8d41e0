"""``python -m bench.http``: `POST /execute` against the same program in process, in the same run, and 1,000 requests at once.

The service runs in a process of its own with 8 warm children, as `gristmill serve --http` does. Both are asked by the same
number of askers, in turns, so that a busy machine slows both. Writes ``bench/out/http.json``.
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
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench import machine
from gristmill import Config, Runtime
from gristmill.config import SandboxConfig, StoreConfig

OUT = Path(__file__).parent / "out" / "http.json"
CODE = "sum(range(10))"
ASKERS = 16
CROWDS = 3
Ask = Callable[[int], Awaitable[None]]


async def rate(ask: Ask, seconds: float) -> float:
    """Executions in a second, with ``ASKERS`` asking."""
    done, end = 0, time.perf_counter() + seconds
    began = time.perf_counter()

    async def one(asker: int) -> None:
        nonlocal done
        while time.perf_counter() < end:
            await ask(asker)
            done += 1

    await asyncio.gather(*(one(asker) for asker in range(ASKERS)))
    return done / (time.perf_counter() - began)


class Connection:
    """The leanest client there is, kept alive: what is measured is the service, not whoever asks it."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)
        body = json.dumps({"code": CODE}).encode()
        head = f"POST /execute HTTP/1.1\r\nHost: {self._address.netloc}\r\nContent-Type: application/json\r\n"
        self._request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self) -> bool:
        """Ask once; whether it succeeded."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._address.hostname, self._address.port)
        reader, writer = self._streams
        writer.write(self._request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        body = await reader.readexactly(int(length.split(b":")[1]))
        return head.startswith(b"HTTP/1.1 200") and b'"success":true' in body

    def close(self) -> None:
        """Hang up."""
        if self._streams:
            self._streams[1].close()


async def crowd(url: str, size: int) -> dict[str, Any]:
    """``size`` requests at once, each on a connection of its own: how many failed, and how long they took."""
    times: list[float] = []
    errors = 0

    async def one() -> None:
        nonlocal errors
        connection, began = Connection(url), time.perf_counter()
        try:
            errors += not await connection.ask()
        except (OSError, asyncio.IncompleteReadError):
            errors += 1
        times.append(time.perf_counter() - began)
        connection.close()

    await asyncio.gather(*(one() for _ in range(size)))
    cuts = statistics.quantiles(times, n=100)
    return {"requests": size, "errors": errors, "p50_s": round(cuts[49], 3), "p99_s": round(cuts[98], 3)}


def start(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """The service, and its address."""
    environment = {
        **os.environ, "GRISTMILL_STORE__PATH": str(folder), "GRISTMILL_SANDBOX__WARM": "8", "GRISTMILL_SERVE__LOG_LEVEL": "error",
        "PYTHONPATH": str(machine.ROOT / "src"),
    }  # fmt: skip
    command = [sys.executable, "-m", "gristmill", "serve", "--http", "--port", "0"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    return process, process.stderr.readline().split()[-1]


async def measure(rounds: int, seconds: float, size: int) -> dict[str, Any]:
    """Both rates, in turns, then the crowd."""
    with tempfile.TemporaryDirectory(prefix="gristmill-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "in").mkdir()
        config = Config(store=StoreConfig(path=folder / "in"), sandbox=SandboxConfig(warm=8))
        process, url = start(folder)
        connections = [Connection(url) for _ in range(ASKERS)]
        try:
            async with Runtime.open(config, serving=True) as runtime:

                async def inside(_asker: int) -> None:
                    assert (await runtime.execute(CODE)).success

                async def outside(asker: int) -> None:
                    assert await connections[asker].ask()

                await rate(inside, 1.0)
                await rate(outside, 1.0)
                pairs = [(await rate(inside, seconds), await rate(outside, seconds)) for _ in range(rounds)]
                crowds = [(size / await rate(inside, seconds), await crowd(url, size)) for _ in range(CROWDS)]
            memory = _rss_mb(process.pid)
        finally:
            process.terminate()
            process.wait(60)
    ratio = statistics.median(out / into for into, out in pairs)
    return {
        "in_process_per_s": round(statistics.median(into for into, _ in pairs), 1),
        "http_per_s": round(statistics.median(out for _, out in pairs), 1),
        "ratio": round(ratio, 3), "bar_ratio": 0.7, "at_once": _at_once(crowds), "service_rss_mb": memory,
    }  # fmt: skip


def _at_once(crowds: list[tuple[float, dict[str, Any]]]) -> dict[str, Any]:
    """The crowds as one, and the floor: what as many runs take in process, sixteen at a time, right before each."""
    median = {key: statistics.median(found[key] for _, found in crowds) for key in ("p50_s", "p99_s")}
    of_floor = statistics.median(found["p99_s"] / floor for floor, found in crowds)
    return {
        "requests": crowds[0][1]["requests"], "errors": sum(found["errors"] for _, found in crowds), **median,
        "p99_s_each": [found["p99_s"] for _, found in crowds], "in_process_s_each": [round(floor, 3) for floor, _ in crowds],
        "p99_of_in_process": round(of_floor, 3),
    }  # fmt: skip


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
