"""``python -m bench.profile``: where the time of one fresh run goes, on the host's clock, in the guest and in CPU seconds.

The clock of a child is the host's clock (CLOCK_MONOTONIC), so one timeline holds both sides. CPU time says more than wall time on
a busy machine: it is what a run costs whoever else is running.
"""

import argparse
import asyncio
import cProfile
import inspect
import os
import pstats
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import memory
from bench.ours import CALLS, PRINT, Opened, opened
from gristmill.sandbox.jails.jail import Jail
from gristmill.sandbox.jails.jail_pool import LinuxPool
from gristmill.sandbox.jails.template_process import TemplateProcess
from gristmill.sandbox.run.frames import GuestLink

GUEST_CLOCK = "import time\ntime.perf_counter()"
SETTLED = 0.3
"""Seconds after which the children of earlier runs are buried."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Marks:
    """Moments of the run under way; only the first of each name counts, and only those of the child that it leased."""

    at: dict[str, float] = field(default_factory=dict[str, float])
    ours: set[int] = field(default_factory=set[int])

    def mark(self, name: str, owner: object = None) -> None:
        if name and (owner is None or not self.ours or id(owner) in self.ours):
            self.at.setdefault(name, time.perf_counter())

    def clear(self) -> None:
        """Begin another run."""
        self.at.clear()
        self.ours.clear()


def watch(owner: type, method: str, marks: Marks, *, before: str = "", after: str = "") -> None:
    """Mark the moments at which ``method`` begins and ends."""
    original: Callable[..., Any] = getattr(owner, method)

    if inspect.iscoroutinefunction(original):

        async def awaited(self: object, *args: Any, **kwargs: Any) -> Any:
            marks.mark(before, self)
            value = await original(self, *args, **kwargs)
            marks.mark(after, self)
            return value

        setattr(owner, method, awaited)
        return

    def called(self: object, *args: Any, **kwargs: Any) -> Any:
        marks.mark(before, self)
        value = original(self, *args, **kwargs)
        if isinstance(value, Jail):  # the lease: from here on only this child and its link are of interest
            marks.ours |= {id(value), id(value.handles.link), id(self)}
        marks.mark(after, self)
        return value

    setattr(owner, method, called)


RUN_STAGES = (
    ("leased", "a warm child is taken"),
    ("sent", "the program is on its way"),
    ("guest", "its first line runs in the guest"),
    ("first byte", "the report wakes the host's loop"),
    ("done", "the report is parsed"),
    ("reported", "output read, report made"),
    ("buried", "the child is killed and released"),
    ("end", "execute returns"),
)
SPAWN_STAGES = (
    ("ordered", "the template has the order"),
    ("spawned", "the template has forked, its answer is here"),
    ("admitted", "it is in its cgroup and may go on"),
    ("ready", "it is sealed, warmed up and waits"),
)


def _watch_run(marks: Marks) -> None:
    watch(LinuxPool, "_take_warm", marks, after="leased")
    watch(GuestLink, "send", marks, after="sent")
    watch(GuestLink, "_readable", marks, before="first byte")
    watch(Jail, "on_message", marks, after="done")
    watch(Jail, "_report", marks, after="reported")
    watch(LinuxPool, "_release_jail", marks, after="buried")


def _watch_spawn(marks: Marks) -> None:
    watch(TemplateProcess, "_send", marks, after="ordered")
    watch(TemplateProcess, "spawn", marks, after="spawned")
    watch(LinuxPool, "_fork", marks, after="admitted")
    watch(LinuxPool, "_spawn", marks, after="ready")


async def timeline(rounds: int, marks: Marks) -> dict[str, float]:
    """Median microseconds from the call of execute to each stage."""
    seen: dict[str, list[float]] = {}
    async with opened() as at:
        for _ in range(rounds):
            await at.filled()
            marks.clear()
            started = time.perf_counter()
            outcome = await at.whole(GUEST_CLOCK)
            marks.mark("end")
            for name, moment in {**marks.at, "guest": outcome.result}.items():
                seen.setdefault(name, []).append((moment - started) * 1e6)
    return {name: statistics.median(values) for name, values in seen.items()}


async def spawn_timeline(rounds: int, marks: Marks) -> dict[str, float]:
    """Median microseconds from the call of execute with an empty pool to each stage."""
    seen: dict[str, list[float]] = {}
    async with opened(warm=0) as at:
        for _ in range(rounds):
            await asyncio.sleep(0.005)
            marks.clear()
            started = time.perf_counter()
            await at.whole(PRINT)
            for name, moment in marks.at.items():
                seen.setdefault(name, []).append((moment - started) * 1e6)
    return {name: statistics.median(values) for name, values in seen.items()}


def _cpu(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and of the children it has buried."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS, (int(fields[13]) + int(fields[14])) / TICKS


def _faults(pid: int) -> tuple[int, int]:
    """Page faults of a process, and of the children it has buried."""
    fields = _stat(pid)
    return int(fields[7]), int(fields[8])


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()


def _template() -> int:
    """The process below us with the most children."""
    below = memory.tree(os.getpid())
    below.pop(os.getpid())
    return max(below, key=lambda pid: len(below[pid]))


async def cpu(rounds: int, *, busy: bool) -> dict[str, float]:
    """CPU microseconds per fresh run, by who spent them: the host, the template, the children."""
    async with opened() as at:
        template = _template()
        host, (own, buried) = time.process_time(), _cpu(template)
        if busy:
            await asyncio.gather(*[_many(at, rounds // 8) for _ in range(8)])
        else:
            for _ in range(rounds):
                await at.whole(PRINT)
                await at.filled()
        await at.filled()
        now_host, (now_own, now_buried) = time.process_time(), _cpu(template)
    spent = {"host": now_host - host, "template": now_own - own, "children": now_buried - buried}
    return {name: seconds / rounds * 1e6 for name, seconds in spent.items()}


async def faults(rounds: int) -> dict[str, float]:
    """Page faults per fresh run: how many of the template's pages it and a child had to copy. The same under any load."""
    async with opened() as at:
        template = _template()
        await asyncio.sleep(SETTLED)
        own, buried = _faults(template)
        for _ in range(rounds):
            await at.whole(PRINT)
            await at.filled()
        await asyncio.sleep(SETTLED)
        now_own, now_buried = _faults(template)
    return {"template": (now_own - own) / rounds, "children": (now_buried - buried) / rounds}


async def _many(at: Opened, count: int) -> None:
    for _ in range(count):
        await at.whole(PRINT)


async def host_profile(rounds: int, code: str, session: str | None) -> pstats.Stats:
    """The host's side of ``rounds`` runs, function by function."""
    profile = cProfile.Profile()
    async with opened() as at:
        await at.whole(code, session=session)
        profile.enable()
        for _ in range(rounds):
            await at.whole(code, session=session)
        profile.disable()
    return pstats.Stats(profile)


def show(title: str, stages: tuple[tuple[str, str], ...], moments: dict[str, float]) -> None:
    """One stage per line: when it is reached, and what it took since the one before."""
    print(f"\n{title}")
    last = 0.0
    for name, meaning in sorted(stages, key=lambda stage: moments.get(stage[0], 0.0)):
        if name in moments:
            print(f"  {moments[name]:9.0f} us  +{moments[name] - last:7.0f}  {meaning}")
            last = moments[name]


async def memory_profile() -> None:
    """A waiting child's memory by mapping: what is its own, and its part of what it shares with the template and the others."""
    async with opened() as ours:
        await ours.filled()
        child = ours.waiting()[0]
        print(f"{'mapping':<32}{'own KB':>8}{'shared KB':>11}{'counted KB':>12}")
        for name, (own, shared, pss) in sorted(memory.mappings(child).items(), key=lambda item: -item[1][2])[:12]:
            print(f"{name:<32}{own:>8,}{shared:>11,}{pss:>12,}")
        print(f"{'all':<32}{'':>8}{'':>11}{memory.pss_mb(child) * 1024:>12,.0f}")


def main() -> None:
    """Timelines, CPU time, and on request a profile of the host."""
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--memory", action="store_true", help="where the memory of a waiting child is, by mapping, instead")
    parser.add_argument("--host", choices=("fresh", "kept", "calls"), help="cProfile of the host instead")
    options = parser.parse_args()
    if options.host:
        code, session = {"fresh": (PRINT, None), "kept": (PRINT, "kept"), "calls": (CALLS.format(count=900), None)}[options.host]
        rounds = 5 if options.host == "calls" else options.rounds
        asyncio.run(host_profile(rounds, code, session)).sort_stats("tottime").print_stats(30)
        return
    if options.memory:
        asyncio.run(memory_profile())
        return
    for busy in (False, True):
        spent = asyncio.run(cpu(options.rounds, busy=busy))
        print(f"CPU us per fresh run, {'8 callers' if busy else 'one at a time'}: {spent} = {sum(spent.values()):.0f}")
    print(f"page faults per fresh run: {asyncio.run(faults(options.rounds))}")
    run_marks, spawn_marks = Marks(), Marks()
    _watch_run(run_marks)
    show("one fresh run from a filled pool (median)", RUN_STAGES, asyncio.run(timeline(options.rounds, run_marks)))
    _watch_spawn(spawn_marks)
    show("one fresh run with an empty pool (median)", SPAWN_STAGES, asyncio.run(spawn_timeline(options.rounds // 2, spawn_marks)))


if __name__ == "__main__":
    main()
