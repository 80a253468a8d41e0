"""``gristmill bench``: measures speed on this machine, as ratios to the bare interpreter measured at the same time."""

import asyncio
import os
import platform
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Annotated, Any, cast

import typer

from gristmill.config.tree import load_config
from gristmill.errors import SandboxError
from gristmill.model import Budget
from gristmill.runtime.runtime import Runtime
from gristmill.serve.cli.terminal.print_tables import Column, print_table
from gristmill.serve.cli.terminal.safe_output import print_json, stdout

PROGRAM = "print(1 + 1)"
PAUSE_SECONDS = 0.005
CALLS = """
import time
from servers import bench
times = []
for number in range({count}):
    started = time.perf_counter()
    bench.echo(x=number)
    times.append(time.perf_counter() - started)
times
"""


def bench(
    rounds: Annotated[int, typer.Option(help="How often to repeat each measurement.", min=5, max=2_000)] = 100,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure a fresh run, a run in a kept session and a tool call, and compare them with `python -c` on this machine.

    Prints medians. Use an idle machine, and trust the ratios more than the milliseconds. Example: `gristmill bench --rounds 50`
    """
    figures = asyncio.run(_measure(rounds))
    found = {
        "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(), "rounds": rounds,
        "load": round(os.getloadavg()[0], 2), **figures,
    }  # fmt: skip
    if json:
        print_json(found)
    else:
        _print_figures(found)


async def _measure(rounds: int) -> dict[str, Any]:
    floor = await asyncio.to_thread(lambda: [_time_bare_python() for _ in range(max(5, rounds // 5))])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)  # noqa: S103  # code runs as another user when we are root
        config = load_config(None, store={"path": folder, "url": None}, servers={})
        async with Runtime.open(config, tools={"bench.echo": _echo}) as runtime:
            await _run_program(runtime)
            fresh = [await _time_run(runtime, None) for _ in range(rounds)]
            kept = [await _time_run(runtime, "bench") for _ in range(rounds + 1)][1:]  # the first run opens the session
            calls = await _time_calls(runtime, rounds)
            isolation = runtime.isolation
    times = {"bare": floor, "fresh": fresh, "kept": kept, "call": calls}
    medians = {name: round(median(seconds) * 1000, 4) for name, seconds in times.items()}
    ratios = {name: round(value / medians["bare"], 5) for name, value in medians.items() if name != "bare"}
    return {"isolation": isolation, "median_ms": medians, "ratio_to_bare": ratios}


def _echo(x: int) -> int:
    """Returns its argument."""
    return x


def _time_bare_python() -> float:

    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, timeout=60)
    return time.perf_counter() - started


async def _time_run(runtime: Runtime, session: str | None) -> float:
    await asyncio.sleep(PAUSE_SECONDS)  # real callers pause between runs, and the pool refills in the pause
    started = time.perf_counter()
    await _run_program(runtime, session)
    return time.perf_counter() - started


async def _run_program(runtime: Runtime, session: str | None = None) -> None:
    outcome = await runtime.execute(PROGRAM, session=session)
    if outcome.output != "2\n":
        raise SandboxError(f"cannot measure: the test program failed, see `gristmill doctor`: {outcome.error}")


async def _time_calls(runtime: Runtime, count: int) -> list[float]:
    outcome = await runtime.execute(CALLS.format(count=count), budget=Budget(result_tokens=20 * count + 1_000))
    times: Any = outcome.result
    if not isinstance(times, list):
        raise SandboxError(f"cannot measure: the test tool calls failed, see `gristmill doctor`: {outcome.error}")
    return cast("list[float]", times)


def _print_figures(found: dict[str, Any]) -> None:
    rows = {
        "bare": "python -c 'print(1 + 1)', no sandbox",
        "fresh": "print(1 + 1) in a fresh sandbox",
        "kept": "print(1 + 1) in a kept session",
        "call": "one tool call from the sandbox, and back",
    }
    lines: list[tuple[str, ...]] = []
    for name, words in rows.items():
        ratio = found["ratio_to_bare"].get(name)
        lines.append((words, f"{found['median_ms'][name]:,.3f} ms", f"{ratio:.4f}" if ratio is not None else "1"))
    print_table(("what", Column(title="median", kind="number"), Column(title="of bare", kind="number")), lines)
    where = f"Python {found['python']}, {found['machine']}, {found['cores']} cores, load {found['load']}"
    stdout().print(f"{where}; {found['rounds']} rounds; isolation {found['isolation']}", style="dim")
