"""What all layers together cost, per tool call and per execution: `python -m bench.layers`.

The same program with the same tool, in turns, in one process: once through the whole hall, once without any layer.
The sandbox is real for executions; for calls it is left out, so that nothing but the layers is measured. Writes
`bench/out/layers.json`; `--profile` prints where the time of the layers goes instead.
"""

import argparse
import asyncio
import cProfile
import json
import pstats
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from bench.machine import describe
from gristmill.config.tree import Config
from gristmill.model import Execution, ToolCall
from gristmill.runtime.rooms import Rooms
from gristmill.runtime.runtime import Runtime
from gristmill.testing import FakePool, fake_runtime
from gristmill.upstream.python_functions import PythonFunctions

OUT = Path(__file__).parent / "out" / "layers.json"
CODE = "6 * 7"
Work = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One kind of work with and without layers, in microseconds each; CPU is that of the whole process.

    Medians, and the best batch: on a machine that others use too, only that one says what the code costs.
    """

    name: str
    wall_us: float
    wall_bare_us: float
    cpu_us: float
    cpu_bare_us: float
    best_us: float
    best_bare_us: float

    @property
    def overhead_us(self) -> float:
        """What the layers add on the clock."""
        return self.wall_us - self.wall_bare_us

    @property
    def best_overhead_us(self) -> float:
        """The same between the best batches."""
        return self.best_us - self.best_bare_us


def find(q: str, limit: int = 10) -> list[dict[str, Any]]:
    """A tool with an answer of ordinary size."""
    return [{"id": n, "name": f"row {n} of {q}", "total": n * 37, "note": "paid in time"} for n in range(limit)]


def settings(folder: Path, mode: str) -> Config:
    """Every layer on: quota, policy with a condition, journal, masks, a flow rule, records."""
    rules = {"allow": ["crm.*"], "rules": [{"match": "crm.find", "effect": "deny", "when": "limit > 1000"}]}
    flows = {"deny": ["crm -> web.*"]}
    return Config.model_validate({"store": {"path": folder}, "policy": rules, "mask": {"mode": mode}, "flows": flows})


async def compare(name: str, whole: Work, bare: Work, *, rounds: int, batch: int) -> Figure:
    """Batches of both in turns, so that a busy machine slows both; medians of the batches."""
    times: dict[str, list[float]] = {"wall": [], "cpu": [], "wall_bare": [], "cpu_bare": []}
    for work in (whole, bare):
        await _batch(work, batch)
    for _ in range(rounds):
        for work, suffix in ((whole, ""), (bare, "_bare")):
            wall, cpu = await _batch(work, batch)
            times[f"wall{suffix}"].append(wall)
            times[f"cpu{suffix}"].append(cpu)
    medians = {f"{key}_us": round(statistics.median(values) * 1e6, 1) for key, values in times.items()}
    best = {f"best{suffix}_us": round(min(times[f"wall{suffix}"]) * 1e6, 1) for suffix in ("", "_bare")}
    return Figure(name=name, **medians, **best)


async def _batch(work: Work, times: int) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(times):
        await work()
    return (time.perf_counter() - wall) / times, (time.process_time() - cpu) / times


async def calls(folder: Path, kind: str, mode: str, *, rounds: int, batch: int) -> Figure:
    """One call through every layer, against the same call to the same upstream."""
    async with fake_runtime(settings(folder, mode), FakePool(), tools={"crm.find": find}) as runtime:
        whole, bare = await through(runtime._rooms, kind)  # pyright: ignore[reportPrivateUsage]
        return await compare(f"{kind}, masks {mode}", whole, bare, rounds=rounds, batch=batch)


async def through(rooms: Rooms, kind: str) -> tuple[Work, Work]:
    """A call of one long run with all layers, and without. A write is on disk before it leaves; a read need not be."""
    crm = cast("PythonFunctions", rooms.upstreams["crm"])
    hints = {"readOnlyHint": kind == "read"}
    crm._tools = tuple(replace(tool, annotations=hints) for tool in crm.tools)  # pyright: ignore[reportPrivateUsage]
    run = await rooms.intake.begin_run(Execution(id="bench", code=CODE))
    handler = rooms.broker.handler(run, rooms.recorder.open_execution(run))
    numbers = iter(range(1, 10_000_000))

    def call() -> ToolCall:
        number = next(numbers)
        return ToolCall(id=number, tool="crm.find", arguments={"q": f"customer {number}", "limit": 10}, execution="bench")

    return (lambda: handler(call())), (lambda: rooms.upstreams(call()))


async def executions(folder: Path, *, rounds: int, batch: int) -> Figure:
    """A small program in the real sandbox through the hall, against the sandbox alone."""
    from gristmill.events import ignore_event
    from gristmill.sandbox.base import SandboxJob

    async with Runtime.open(settings(folder, "full"), tools={"crm.find": find}) as runtime:
        rooms = runtime._rooms  # pyright: ignore[reportPrivateUsage]
        limits, modules = rooms.config.sandbox.limits.to_limits(), await rooms.library.write_modules()
        numbers = iter(range(1, 10_000_000))

        async def bare() -> None:
            job = SandboxJob(execution=f"bare{next(numbers)}", code=CODE, limits=limits, modules=modules)
            async with rooms.pool.lease(limits) as sandbox:
                await sandbox.run(job, rooms.upstreams, ignore_event)

        async def whole() -> None:
            await runtime.execute(CODE)

        return await compare("execution", whole, bare, rounds=rounds, batch=batch)


def _shown(figure: Figure) -> dict[str, Any]:
    added = {"overhead_us": round(figure.overhead_us, 1), "best_overhead_us": round(figure.best_overhead_us, 1)}
    return {**asdict(figure), **added}


def profiled(folder: Path, kind: str, mode: str, batch: int) -> None:
    """Where the time of a call goes."""

    async def work() -> None:
        async with fake_runtime(settings(folder, mode), FakePool(), tools={"crm.find": find}) as runtime:
            whole, _ = await through(runtime._rooms, kind)  # pyright: ignore[reportPrivateUsage]
            await _batch(whole, 100)
            profile = cProfile.Profile()
            profile.enable()
            await _batch(whole, batch)
            profile.disable()
            pstats.Stats(profile).sort_stats("tottime").print_stats(35)

    asyncio.run(work())


def main() -> None:
    """Measure and write, or profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--profile", choices=["read", "write"])
    parser.add_argument("--masks", choices=["off", "output", "full"], default="full")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # code runs as another user when we are root
        if options.profile:
            profiled(folder, options.profile, options.masks, options.batch * 10)
            return
        sizes = {"rounds": options.rounds, "batch": options.batch}
        kinds = [("read", "off"), ("read", "output"), ("read", "full"), ("write", "full")]
        figures = [asyncio.run(calls(folder / f"{kind}-{mode}", kind, mode, **sizes)) for kind, mode in kinds]
        figures.append(asyncio.run(executions(folder / "run", rounds=options.rounds, batch=max(1, options.batch // 10))))
    found = {"machine": describe(), "figures": [_shown(one) for one in figures]}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=2) + "\n")
    print(json.dumps(found["figures"], indent=2))


if __name__ == "__main__":
    main()
