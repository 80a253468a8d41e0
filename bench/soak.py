"""``python -m bench.soak --minutes 60``: mixed traffic over HTTP and MCP for a long time, and what the service holds meanwhile.

Fresh and kept runs, background runs, plans and decisions, searches, uploads, errors, results that are too long, ended sessions,
MCP sessions that are ended or left open, and clients that vanish. Each minute prints memory, descriptors, threads, processes, the
disk that ended sessions still use, and the worst time that ``/health`` took; the end prints the slopes. Writes
``bench/out/soak.json``.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from bench import machine

OUT = Path(__file__).parent / "out" / "soak.json"
START_SECONDS, STOP_SECONDS, ANSWER_SECONDS, HEALTH_SECONDS = 120.0, 60.0, 60.0, 0.05
LIVE_SESSIONS = 12
"""How many sessions are used again and again."""
SETTINGS = """
[servers.soak]
command = "{python}"
args = ["{server}"]

[store]
path = "{state}"

[sandbox]
warm = 1
concurrency = 2

[policy]
approvals_waiting = 0
approvals_per_hour = 0

[serve]
log_level = "error"
"""

Answer = tuple[int, dict[str, str], bytes]


class Service:
    """The service under test, and a client that opens a connection for each request."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        self.statuses: Counter[str] = Counter()

    async def ask(self, what: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Sends one request and reads the answer; counts its status under ``what``."""
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await self.send(method, path, body, **headers)
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                given = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in head[1:])}
                content = await reader.read(-1)
            finally:
                writer.close()
        status = int(head[0].split()[1])
        self.statuses[f"{what} {status}"] += 1
        return status, given, content

    async def send(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Sends one request, and leaves the answer to be read."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        lines = [
            f"{method} {path} HTTP/1.1",
            f"host: 127.0.0.1:{self.port}",
            "connection: close",
            f"content-length: {len(content)}",
        ]
        given = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        given |= {name.replace("_", "-"): text for name, text in headers.items()}
        lines += [f"{name}: {text}" for name, text in given.items()]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 24)
        writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await writer.drain()
        return reader, writer


async def run_fresh(service: Service, number: int) -> None:
    await service.ask("fresh", "POST", "/execute", {"code": f"from servers import soak\nlen(soak.read(count={number % 20}))"})


async def run_kept(service: Service, number: int) -> None:
    code = "from servers import soak\ntotal = globals().get('total', 0) + len(soak.read(count=3))\ntotal"
    await service.ask("kept", "POST", "/execute", {"code": code, "session": f"kept-{number % LIVE_SESSIONS}"})


async def run_and_end_session(service: Service, number: int) -> None:
    name = f"ended-{number}"
    await service.ask("open", "POST", "/sessions", {"name": name})
    await service.ask(
        "upload", "PUT", f"/sessions/{name}/files/in.csv", b"a,b\n" * 5_000, content_type="application/octet-stream"
    )
    code = "from session import kv\nkv['n'] = 1\nopen('out', 'w').write(open('in.csv').read() * 5)"
    await service.ask("in session", "POST", "/execute", {"code": code, "session": name})
    await service.ask("download", "GET", f"/sessions/{name}/files/out")
    await service.ask("end", "DELETE", f"/sessions/{name}")


async def run_in_background(service: Service, number: int) -> None:
    asked = {"code": f"{number}", "background": True}
    _, _, content = await service.ask("background", "POST", "/execute", asked, idempotency_key=f"key-{number}")
    name = json.loads(content).get("id", "none")
    for _ in range(50):
        status, _, content = await service.ask("poll", "GET", f"/executions/{name}")
        if status != 200 or json.loads(content).get("status") not in ("queued", "running"):
            return
        await asyncio.sleep(0.1)


async def run_plan(service: Service, number: int) -> None:
    code = f"from servers import soak\nsoak.write(row='{number}')"
    _, _, content = await service.ask("plan", "POST", "/execute", {"code": code})
    outcome: dict[str, Any] = json.loads(content)
    if plan := cast("dict[str, Any]", outcome.get("plan") or {}).get("id"):
        await service.ask("decide", "POST", f"/approvals/{plan}", {"approve": "all" if number % 2 else "none"})
        await service.ask("resume", "POST", "/execute", {"resume": outcome["id"]})


async def search(service: Service, number: int) -> None:
    await service.ask("search", "GET", f"/tools/search?query=read+rows+{number % 500}")


async def make_errors(service: Service, number: int) -> None:
    await service.ask("bad json", "POST", "/execute", b"{nonsense")
    await service.ask("unknown", "GET", f"/sessions/none-{number}")
    await service.ask(
        "raises", "POST", "/execute", {"code": f"from servers import soak\nsoak.fail()\nraise ValueError({number})"}
    )
    await service.ask("limited", "POST", "/execute", {"code": "while True: pass", "limits": {"seconds": 0.2}})


async def return_too_much(service: Service, number: int) -> None:
    await service.ask("long result", "POST", "/execute", {"code": f"['{number}' * 20] * 20000"})


async def vanish(service: Service, number: int) -> None:
    _, writer = await service.send("POST", "/execute", {"code": f"import time\ntime.sleep(3)\n{number}"})
    await asyncio.sleep(0.05)
    writer.close()
    service.statuses["vanished"] += 1


async def speak_mcp(service: Service, number: int) -> None:
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}
    _, headers, _ = await service.ask("mcp begin", "POST", "/mcp", begin)
    session = {"mcp_session_id": headers.get("mcp-session-id", ""), "mcp_protocol_version": "2025-11-25"}
    await service.ask("mcp ready", "POST", "/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}, **session)
    call = {"name": "execute_code", "arguments": {"code": f"{number} + 1"}}
    await service.ask("mcp call", "POST", "/mcp", {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}, **session)
    if number % 5:  # the others are left open, as clients do that are killed
        await service.ask("mcp end", "DELETE", "/mcp", **session)


TRAFFIC: tuple[Callable[[Service, int], Awaitable[None]], ...] = (
    run_fresh, run_kept, run_and_end_session, run_in_background, run_plan, search, make_errors, return_too_much, vanish,
    speak_mcp, run_kept, run_fresh, search,
)  # fmt: skip


async def send_traffic(service: Service, numbers: "itertools.count[int]", pause: float, until: float) -> None:
    """Sends one kind of traffic after the other until the time is over; what fails is counted."""
    while time.monotonic() < until:
        number = next(numbers)
        kind = TRAFFIC[number % len(TRAFFIC)]
        try:
            await kind(service, number)
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError) as error:
            service.statuses[f"{kind.__name__} {type(error).__name__}"] += 1
        await asyncio.sleep(pause)


class HealthWatch:
    """Asks ``/health`` all the time; ``worst`` is the longest that it took since it was last taken."""

    def __init__(self, service: Service) -> None:
        self._service, self._worst = service, 0.0

    async def run_until(self, until: float) -> None:
        while time.monotonic() < until:
            began = time.monotonic()
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                await self._service.ask("health", "GET", "/health")
            self._worst = max(self._worst, time.monotonic() - began)
            await asyncio.sleep(HEALTH_SECONDS)

    def take_worst(self) -> float:
        worst, self._worst = self._worst, 0.0
        return worst


def read_status(pid: int, field: str) -> int:
    """Reads one number of ``/proc/PID/status``."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def count_descendants(pid: int) -> int:
    """Counts the processes below ``pid``."""
    found = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, timeout=30, check=True).stdout
    parents = {int(child): int(parent) for child, parent in (line.split() for line in found.splitlines())}

    def is_below(one: int) -> bool:
        while one in parents:
            one = parents[one]
            if one == pid:
                return True
        return False

    return sum(is_below(one) for one in parents)


def look(service: Service, state: Path) -> dict[str, float]:
    """Returns what the service holds now."""
    ended = [each for each in (state / "workspaces").glob("ended-*") if each.is_dir()]
    disk = sum(file.stat().st_blocks * 512 for each in ended for file in each.rglob("*") if file.is_file())
    store = sum(each.stat().st_size for each in state.glob("gristmill.db*"))
    return {
        "memory_mb": round(read_status(service.pid, "VmRSS") / 1024, 2),
        "descriptors": len(os.listdir(f"/proc/{service.pid}/fd")),
        "threads": read_status(service.pid, "Threads"),
        "processes": count_descendants(service.pid),
        "folders_of_sessions": sum(1 for _ in (state / "workspaces").iterdir()),
        "disk_of_ended_mb": round(disk / 1e6, 3),
        "store_mb": round(store / 1e6, 2),
    }


def fit_slope(values: list[float]) -> float:
    """Returns the slope of the line through ``values``, per step."""
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    spread = sum((at - middle) ** 2 for at in range(len(values)))
    return sum((at - middle) * (value - mean) for at, value in enumerate(values)) / spread if spread else 0.0


def start_service(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Starts the service on a free port."""
    server = Path(__file__).parent / "soak_server.py"
    settings = folder / "gristmill.toml"
    settings.write_text(SETTINGS.format(python=sys.executable, server=server, state=folder / "state"), encoding="utf-8")
    command = [sys.executable, "-m", "gristmill", "serve", "--http", "--port", "0", "--config", str(settings)]
    environment = {**os.environ, "PYTHONPATH": str(machine.ROOT / "src")}
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    limit = threading.Timer(START_SECONDS, process.kill)
    limit.start()
    first = process.stderr.readline()
    limit.cancel()
    if not first.startswith("listening on "):
        raise SystemExit(f"the service did not start: {first}{process.stderr.read()}")
    # What it logs is thrown away: a full pipe would stop it.
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process, int(first.split()[-1].rpartition(":")[2].strip("/"))


async def soak(service: Service, state: Path, asked: argparse.Namespace) -> list[dict[str, float]]:
    """Sends traffic, and looks once a minute."""
    until = time.monotonic() + asked.minutes * 60
    watch, numbers = HealthWatch(service), itertools.count(1)
    tasks = [asyncio.create_task(watch.run_until(until))]
    tasks += [asyncio.create_task(send_traffic(service, numbers, asked.pause, until)) for _ in range(asked.clients)]
    rows: list[dict[str, float]] = []
    for minute in range(1, asked.minutes + 1):
        await asyncio.sleep(max(0.0, until - time.monotonic() - (asked.minutes - minute) * 60))
        row = await asyncio.to_thread(look, service, state)
        rows.append(
            {"minute": minute, **row, "health_ms": round(watch.take_worst() * 1000, 1), "requests": service.statuses.total()}
        )
        print("  ".join(f"{name} {value:g}" for name, value in rows[-1].items()), flush=True)
    await asyncio.gather(*tasks)
    return rows


def report(rows: list[dict[str, float]], service: Service) -> dict[str, Any]:
    """Computes the slopes over the last two thirds, where caches are full."""
    settled = rows[len(rows) // 3 :]
    names = ("memory_mb", "descriptors", "threads", "processes", "folders_of_sessions", "disk_of_ended_mb", "store_mb")
    slopes = {name: round(fit_slope([row[name] for row in settled]), 3) for name in names}
    return {"minutes": rows, "slopes_per_minute": slopes, "statuses": dict(sorted(service.statuses.items()))}


def main() -> None:
    """Starts, sends, looks, ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=15)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between the requests of one client")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gristmill-soak-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        process, port = start_service(folder)
        service = Service(port, process.pid)
        try:
            found = report(asyncio.run(soak(service, folder / "state", asked)), service)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1), encoding="utf-8")
    print(json.dumps({name: found[name] for name in ("slopes_per_minute", "statuses")}, indent=1))


if __name__ == "__main__":
    main()
