"""Gristmill's own figures, measured in this process: ``python -m bench.ours --figures fresh,kept``; speaks as the peers do."""

import argparse
import asyncio
import inspect
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bench import memory
from bench.install import PACKAGES
from bench.peers import toolset
from bench.peers.corpus import AGGREGATE, judge, load_snippets, quantiles
from gristmill import Config, Outcome, Runtime
from gristmill.config.sections.mask_section import MaskConfig
from gristmill.config.sections.shaping_section import ShapingConfig
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.events import ignore_event
from gristmill.model import Report, ToolCall, ToolResult
from gristmill.runtime.build import open_rooms
from gristmill.runtime.rooms import Rooms
from gristmill.sandbox.base import SandboxJob
from gristmill.sandbox.jails.jail_pool import LinuxPool

PRINT = "print(1+1)"
PAUSE = 0.005
"""Seconds between two timed runs; the peers get the same."""
WARM = 8
WHOLE = ShapingConfig(result_tokens=10_000_000)
"""Programs here return their timings: all of them are wanted."""
CALLS = """
import time
from servers import bench
times = []
for n in range({count}):
    started = time.perf_counter()
    bench.echo(x=n)
    times.append(time.perf_counter() - started)
times
"""
AWAITED_CALLS = """
import time
from servers import bench
async def measure():
    times = []
    for n in range({count}):
        started = time.perf_counter()
        await bench.echo(x=n)
        times.append(time.perf_counter() - started)
    return times
await measure()
"""
PARALLEL = "import asyncio\nfrom servers import bench\nawait asyncio.gather(*[bench.slow(i=i) for i in range(100)])"
ROWS = "from servers import bench" + AGGREGATE.replace("ROWS", "bench.rows()") + "totals"
PANDAS = "import pandas as pd\npd.DataFrame({'a': [1, 2, 1], 'b': [3, 4, 5]}).groupby('a')['b'].sum().to_dict()"


Ended = TypeVar("Ended", Outcome, Report)
Program = Callable[..., Awaitable[Outcome | Report]]
"""Runs a program to its success; what it takes besides the code is a session's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A runtime, and the pool below it where the honest moment to start a clock can be seen."""

    runtime: Runtime
    rooms: Rooms
    pool: LinuxPool
    modules: str | None

    async def filled(self) -> None:
        """As a server is between two requests."""
        await self.pool.wait_until_filled()
        await asyncio.sleep(PAUSE)

    def waiting(self) -> list[int]:
        """The children that wait for code: processes below us that have none below them."""
        return [pid for pid, children in memory.tree(os.getpid()).items() if not children]

    async def whole(self, code: str, session: str | None = None) -> Outcome:
        """Through the whole gateway."""
        return _right(await self.runtime.execute(code, session=session))

    async def bare(self, code: str, session: str | None = None) -> Report:
        """In the sandbox alone; its tools are functions of this process."""
        limits = self.rooms.config.sandbox.limits.to_limits()
        job = SandboxJob(execution=session or "fresh", code=code, limits=limits, session=session, modules=self.modules)
        if session is None:
            async with self.pool.lease(limits) as sandbox:
                return _right(await sandbox.run(job, _host_function, ignore_event))
        async with self.rooms.interpreters.use(
            session, limits, lambda: self.rooms.session_stores.workspaces.make_folder(session)
        ) as lent:
            return _right(await lent.sandbox.run(job, _host_function, ignore_event))


def _right(ended: Ended) -> Ended:
    if ended.status != "ok":
        raise RuntimeError(f"{ended.status}: {ended.error}")
    return ended


async def _host_function(call: ToolCall) -> ToolResult:
    value = toolset.TOOLS[call.tool](*call.positional, **call.arguments)
    return ToolResult(value=await value if inspect.isawaitable(value) else value)


@asynccontextmanager
async def opened(
    tools: Mapping[str, Callable[..., Any]] | None = None, *, masks: bool = True, **sandbox: Any
) -> AsyncGenerator[Opened]:
    """A runtime with default settings but for ``sandbox``."""
    with tempfile.TemporaryDirectory() as folder:
        config = Config(
            sandbox=SandboxConfig.model_validate({"warm": WARM, **sandbox}),
            store=StoreConfig(path=Path(folder)),
            shaping=WHOLE,
            mask=MaskConfig() if masks else MaskConfig(mode="off"),
        )
        async with open_rooms(config, tools if tools is not None else toolset.TOOLS) as rooms:
            assert isinstance(rooms.pool, LinuxPool)
            await rooms.pool.wait_until_filled()
            yield Opened(runtime=Runtime(rooms), rooms=rooms, pool=rooms.pool, modules=await rooms.library.write_modules())


async def timed(
    count: int, run: Callable[[], Awaitable[object]], before: Callable[[], Awaitable[None]], warm_up: int = 10
) -> list[float]:
    """Seconds of each of ``count`` runs."""
    times: list[float] = []
    for index in range(warm_up + count):
        await before()
        started = time.perf_counter()
        await run()
        if index >= warm_up:
            times.append(time.perf_counter() - started)
    return times


async def in_turns(count: int, *each: Opened) -> list[list[float]]:
    """Seconds of ``count`` fresh runs of each, one after another, so that the machine's mood is the same for all."""
    times: list[list[float]] = [[] for _ in each]
    for _ in range(count):
        for at, own in zip(each, times, strict=True):
            own += await timed(1, lambda at=at: at.bare(PRINT), at.filled, warm_up=0)
    return times


def pandas_options() -> dict[str, Any]:
    """Settings under which programs have pandas, imported already."""
    if not PACKAGES.is_dir():
        raise RuntimeError("pandas is not installed: run `python -m bench.run` once, it does that")
    return {"venv": PACKAGES, "preload_packages": ("pandas",)}


class Measuring:
    """One method per figure or family of figures; each says what it found."""

    def __init__(self, say: Callable[..., None], *, quick: bool) -> None:
        self._say, self._quick = say, quick

    def _count(self, full: int, quick: int) -> int:
        return quick if self._quick else full

    def _times(self, figure: str, unit: str, seconds: list[float]) -> None:
        scale = {"us": 1e6, "ms": 1e3, "s": 1.0}[unit]
        self._say(figure=figure, unit=unit, **quantiles(seconds, scale))

    def _value(self, figure: str, unit: str, value: float, **more: Any) -> None:
        self._say(figure=figure, unit=unit, n=more.pop("n", 1), p50=value, mean=value, **more)

    async def fresh(self) -> None:
        async with opened() as at:
            self._times("fresh", "ms", await timed(self._count(500, 50), lambda: at.bare(PRINT), at.filled))

    async def fresh_whole(self) -> None:
        async with opened() as at:
            self._times("fresh_whole", "ms", await timed(self._count(500, 50), lambda: at.whole(PRINT), at.filled))

    async def kept(self) -> None:
        async with opened() as at:
            await self._kept("kept", at.bare)

    async def kept_whole(self) -> None:
        async with opened() as at:
            await self._kept("kept_whole", at.whole)

    async def _kept(self, figure: str, run: Program) -> None:
        times = await timed(self._count(500, 50), lambda: run(PRINT, "kept"), lambda: asyncio.sleep(PAUSE))
        self._times(figure, "ms", times)

    async def on_demand(self) -> None:
        async with opened(warm=0) as at:
            self._times(
                "on_demand", "ms", await timed(self._count(200, 30), lambda: at.bare(PRINT), lambda: asyncio.sleep(PAUSE))
            )

    async def fork_session(self) -> None:
        async with opened() as at:
            await at.whole("state = list(range(1000))", "origin")
            times: list[float] = []
            for number in range(self._count(100, 15)):
                await at.filled()
                started = time.perf_counter()
                await at.runtime.fork_session("origin", f"branch{number}")
                times.append(time.perf_counter() - started)
                assert (await at.whole("len(state)", f"branch{number}")).result == 1000
                await at.runtime.drop_session(f"branch{number}")
            self._times("fork_session", "ms", times)

    async def fresh_pandas(self) -> None:
        async with opened() as plain, opened(**pandas_options()) as pandas:
            times = await in_turns(self._count(300, 30), plain, pandas)
        self._times("fresh_pandas", "ms", times[1])
        self._value("pandas_ratio", "x", statistics.median(times[1]) / statistics.median(times[0]), n=len(times[1]))

    async def use_pandas(self) -> None:
        async with opened(**pandas_options()) as at:
            self._times("use_pandas", "ms", await timed(self._count(100, 10), lambda: at.bare(PANDAS), at.filled))

    async def call_sync(self) -> None:
        await self._calls("call_sync", CALLS, toolset.TOOLS)

    async def call_await(self) -> None:
        await self._calls("call_await", AWAITED_CALLS, toolset.TOOLS)

    async def call_3000(self) -> None:
        crowd = {f"filler.tool_{number}": toolset.filler for number in range(3_000 - len(toolset.TOOLS))}
        await self._calls("call_3000", CALLS, {**crowd, **toolset.TOOLS})

    async def call_whole(self) -> None:
        await self._calls("call_whole", CALLS, toolset.TOOLS, whole=True)

    async def _calls(self, figure: str, code: str, tools: Mapping[str, Callable[..., Any]], *, whole: bool = False) -> None:
        async with opened(tools) as at:
            run: Program = at.whole if whole else at.bare
            times: list[float] = []
            for _ in range(self._count(5, 2)):
                await at.filled()
                times += (await run(code.format(count=900))).result[50:]
            self._times(figure, "us", times)

    async def parallel(self) -> None:
        async with opened() as at:
            assert (await at.bare(PARALLEL)).result == list(range(100))
            self._times("parallel", "ms", await timed(self._count(20, 4), lambda: at.bare(PARALLEL), at.filled, warm_up=1))

    async def rows(self) -> None:
        async with opened() as at:
            assert (await at.bare(ROWS)).result == toolset.rows_expected()
            self._times("rows", "ms", await timed(self._count(20, 4), lambda: at.bare(ROWS), at.filled, warm_up=1))

    async def rate_2(self) -> None:
        await self._rate(2)

    async def rate_32(self) -> None:
        await self._rate(32)

    async def rate_256(self) -> None:
        await self._rate(256)

    async def rate_whole(self) -> None:
        await self._rate(32, whole=True)

    async def _rate(self, callers: int, *, whole: bool = False) -> None:
        async with opened() as at:
            run: Program = at.whole if whole else at.bare
            seconds = self._count(8, 2)
            started = time.perf_counter()

            async def caller() -> int:
                done = 0
                while time.perf_counter() < started + seconds:
                    await run(PRINT)
                    done += 1
                return done

            done = sum(await asyncio.gather(*[caller() for _ in range(callers)]))
            self._value("rate_whole" if whole else f"rate_{callers}", "/s", done / (time.perf_counter() - started), n=done)

    async def crowd(self) -> None:
        async with opened() as at:
            times: list[float] = []
            order: list[int] = []
            started = time.perf_counter()

            async def caller(number: int) -> bool:
                try:
                    outcome = await at.runtime.execute(PRINT)
                except Exception:  # any error is one too many: it is counted, not explained
                    return False
                times.append(time.perf_counter() - started)
                order.append(number)
                return outcome.success and outcome.output == "2\n"

            right = await asyncio.gather(*[caller(number) for number in range(1_000)])
            found = quantiles(times or [0.0])
            self._say(figure="crowd_p99", unit="s", **{**found, "p50": found["p99"]}, median=found["p50"])
            self._value("crowd_errors", "", right.count(False), n=len(right))
            shift = max((abs(place - number) for place, number in enumerate(order)), default=0)
            self._value("crowd_shift", "places", shift, n=len(order))

    async def memory(self) -> None:
        async with opened() as at:
            await at.whole(PRINT)
            await at.filled()
            await asyncio.sleep(0.5)  # the used child has to be gone
            below = memory.tree(os.getpid())
            waiting = at.waiting()
            assert len(waiting) == WARM, f"{len(waiting)} processes look like waiting children"
            self._say(figure="child_mb", unit="MB", **quantiles(map(memory.pss_mb, waiting)))
            parts = {pid: memory.pss_mb(pid) for pid in below}
            self._value("runtime_mb", "MB", sum(parts.values()), host=parts[os.getpid()], processes=len(parts))

    async def snippets(self) -> None:
        async with opened(masks=False, **pandas_options()) as at:
            each: dict[str, str] = {}
            for name, (code, expected) in load_snippets().items():
                outcome = await at.runtime.execute(code)
                each[name] = judge(outcome.result, expected) if outcome.success else f"{outcome.status}: {outcome.error}"[-200:]
            passed = sum(verdict == "ok" for verdict in each.values())
            self._value("snippets", "of 32", passed, n=len(each), each=each)


FAMILIES = {
    "pandas_ratio": "fresh_pandas",
    "crowd_p99": "crowd",
    "crowd_errors": "crowd",
    "crowd_shift": "crowd",
    "child_mb": "memory",
    "runtime_mb": "memory",
}
"""Figures that one measurement yields together."""


async def measure(figures: list[str], say: Callable[..., None], *, quick: bool) -> None:
    """Measure each figure; one that cannot be measured says why and does not stop the others."""
    measuring = Measuring(say, quick=quick)
    for name in dict.fromkeys(FAMILIES.get(figure, figure) for figure in figures):
        say(progress=name)
        try:
            async with asyncio.timeout(300):
                await getattr(measuring, name)()
        except Exception as error:  # the table shows what is missing and why
            say(figure=name, error=f"{type(error).__name__}: {error}"[:300])


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: to see that it works, not to quote")
    parser.add_argument("--figures", required=True, help="names, separated by commas")
    options = parser.parse_args()

    def say(**message: Any) -> None:
        print(json.dumps(message), flush=True)

    say(peer=True, python=platform.python_version(), notes="")
    asyncio.run(measure(options.figures.split(","), say, quick=options.quick))
    say(end=True)


if __name__ == "__main__":
    main()
