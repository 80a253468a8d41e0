"""``gristmill bench``: how fast it is here, as ratios to the bare interpreter on the same machine in the same minute."""

import time
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

if TYPE_CHECKING:
    from gristmill.runtime.runtime import Runtime

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
    rounds: Annotated[int, typer.Option(help="How often each thing is done.", min=5, max=2_000)] = 100,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Measure a fresh run, a run in a kept session and a tool call, against `python -c` on the same machine.

    Medians; trust the ratios more than the milliseconds, and neither on a busy machine. Example: `gristmill bench --rounds 50`
    """
    import asyncio
    import os
    import platform

    from gristmill.serve.cli.terminal.safe_output import print_json

    figures = asyncio.run(_measure(rounds))
    found = {
        "python": platform.python_version(), "machine": platform.machine(), "cores": os.cpu_count(), "rounds": rounds,
        "load": round(os.getloadavg()[0], 2), **figures,
    }  # fmt: skip
    if json:
        print_json(found)
    else:
        _show(found)


async def _measure(rounds: int) -> dict[str, Any]:
    import asyncio
    import os
    import tempfile
    from statistics import median

    from gristmill.config.tree import load_config
    from gristmill.runtime.runtime import Runtime

    floor = await asyncio.to_thread(lambda: [_bare() for _ in range(max(5, rounds // 5))])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)  # noqa: S103  # code runs as another user when we are root
        config = load_config(None, store={"path": folder, "url": None}, servers={})
        async with Runtime.open(config, tools={"bench.echo": _echo}) as runtime:
            await _run(runtime)
            fresh = [await _timed(runtime, None) for _ in range(rounds)]
            kept = [await _timed(runtime, "bench") for _ in range(rounds + 1)][1:]  # the first one opens it
            calls = await _calls(runtime, rounds)
            isolation = runtime.isolation
    times = {"bare": floor, "fresh": fresh, "kept": kept, "call": calls}
    medians = {name: round(median(seconds) * 1000, 4) for name, seconds in times.items()}
    ratios = {name: round(value / medians["bare"], 5) for name, value in medians.items() if name != "bare"}
    return {"isolation": isolation, "median_ms": medians, "ratio_to_bare": ratios}


def _echo(x: int) -> int:
    """What comes in goes out."""
    return x


def _bare() -> float:
    import subprocess
    import sys

    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, timeout=60)
    return time.perf_counter() - started


async def _timed(runtime: "Runtime", session: str | None) -> float:
    import asyncio

    await asyncio.sleep(PAUSE_SECONDS)  # code does not come in an unbroken stream, and the pool refills meanwhile
    started = time.perf_counter()
    await _run(runtime, session)
    return time.perf_counter() - started


async def _run(runtime: "Runtime", session: str | None = None) -> None:
    from gristmill.errors import SandboxError

    outcome = await runtime.execute(PROGRAM, session=session)
    if outcome.output != "2\n":
        raise SandboxError(f"a program did not run as it should, so there is nothing to measure: {outcome.error}")


async def _calls(runtime: "Runtime", count: int) -> list[float]:
    from gristmill.errors import SandboxError
    from gristmill.model import Budget

    outcome = await runtime.execute(CALLS.format(count=count), budget=Budget(result_tokens=20 * count + 1_000))
    times: Any = outcome.result
    if not isinstance(times, list):
        raise SandboxError(f"tool calls did not run as they should, so there is nothing to measure: {outcome.error}")
    return cast("list[float]", times)


def _show(found: dict[str, Any]) -> None:
    from rich.table import Table

    from gristmill.serve.cli.terminal.safe_output import stdout

    rows = {
        "bare": "python -c 'print(1 + 1)', no sandbox",
        "fresh": "print(1 + 1) in a fresh sandbox",
        "kept": "print(1 + 1) in a kept session",
        "call": "one tool call from the sandbox, and back",
    }
    table = Table("what", "median", "of bare", box=None, pad_edge=False)
    for name, words in rows.items():
        ratio = found["ratio_to_bare"].get(name)
        table.add_row(words, f"{found['median_ms'][name]:,.3f} ms", f"{ratio:.4f}" if ratio is not None else "1")
    stdout().print(table)
    where = f"Python {found['python']}, {found['machine']}, {found['cores']} cores, load {found['load']}"
    stdout().print(f"{where}; {found['rounds']} rounds; isolation {found['isolation']}", style="dim")
