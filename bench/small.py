"""``python -m bench.small``: the service in 256 MB and half a core, as `deploy/small.toml` sets it up.

A control group with these limits is made around `gristmill serve --http`, the service's own groups lie within it, and a number of
small programs is executed over HTTP. What is reported is what the kernel counted. Needs root, and cgroups. Writes
``bench/out/small.json``.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import machine, memory, wire
from gristmill.sandbox.linux import cgroups, group_folders

OUT = Path(__file__).parent / "out" / "small.json"
SETTINGS = machine.ROOT / "deploy" / "small.toml"
MB = 1 << 20
START_SECONDS, STOP_SECONDS = 120.0, 60.0


@contextmanager
def limited(megabytes: int, cores: float) -> Generator[cgroups.CgroupHierarchy]:
    """A control group with these limits, gone afterwards."""
    group = cgroups.prepare_hierarchy(f"gristmill-small-{os.getpid()}")
    if group.version == "none":
        raise SystemExit(f"no control group can be made here: {group.reason}")
    files = {"memory.limit_in_bytes": str(megabytes * MB)} if group.version == "v1" else {"memory.max": str(megabytes * MB)}
    quota = int(cores * 100_000)
    files |= (
        {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(quota)}
        if group.version == "v1"
        else {"cpu.max": f"{quota} 100000", "memory.swap.max": "0"}
    )
    for name, text in files.items():
        Path(group.folders[name.partition(".")[0]], name).write_text(text, encoding="ascii")
    try:
        yield group
    finally:
        for _ in range(100):
            if group_folders.remove_group_trees(group.unique_folders()):
                break
            time.sleep(0.05)


def start(group: cgroups.CgroupHierarchy, folder: Path, settings: Path) -> tuple[subprocess.Popen[str], str]:
    """The service within the group, and its address."""
    entering = "".join(f"echo $$ > '{place}/cgroup.procs'; " for place in entries(group))
    service = [sys.executable, "-m", "gristmill", "serve", "--http", "--port", "0", "--config", str(settings)]
    # Nobody reads what it logs, and a full pipe would stop it.
    environment = {**os.environ, "GRISTMILL_STORE__PATH": str(folder), "GRISTMILL_SERVE__LOG_LEVEL": "error"}
    environment["PYTHONPATH"] = str(machine.ROOT / "src")
    process = subprocess.Popen(
        ["sh", "-ec", f'{entering} exec "$@"', "sh", *service], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    limit = threading.Timer(START_SECONDS, process.kill)
    limit.start()
    first = process.stderr.readline()
    limit.cancel()
    if not first.startswith("listening on "):
        raise SystemExit(f"the service did not start: {first}{process.stderr.read()}")
    return process, first.split()[-1]


def entries(group: cgroups.CgroupHierarchy) -> list[str]:
    """Where a process enters: in version 2 only a leaf may hold processes, and the service makes its own beside it."""
    if group.version == "v1":
        return group.unique_folders()
    (folder,) = group.unique_folders()
    Path(folder, "cgroup.subtree_control").write_text("-memory -pids -cpu", encoding="ascii")
    return [folder]


async def ask(url: str, times: int, askers: int) -> list[float]:
    """Execute ``times`` programs; how long each took, in milliseconds. One that fails ends the measurement."""
    took: list[float] = []
    left = iter(range(times))

    async def one() -> None:
        connection = wire.Connection(wire.execute(url, "sum(range(10))"))
        for _ in left:
            began = time.perf_counter()
            if not await connection.ask():
                raise SystemExit("an execution failed")
            took.append((time.perf_counter() - began) * 1000)
        connection.close()

    await asyncio.gather(*(one() for _ in range(askers)))
    return took


def held(group: cgroups.CgroupHierarchy, pid: int) -> dict[str, Any]:
    """What the kernel counts now: anonymous memory, files in memory, the most at any time, and who of us holds it."""
    folder = Path(group.folders["memory"])
    fields = dict(line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
    is_v1 = group.version == "v1"
    peak = folder / ("memory.max_usage_in_bytes" if is_v1 else "memory.peak")
    return {
        "anonymous_mb": round(int(fields["total_rss" if is_v1 else "anon"]) / MB, 1),
        "files_mb": round(int(fields["total_cache" if is_v1 else "file"]) / MB, 1),
        "peak_mb": round(int(peak.read_text()) / MB, 1) if peak.exists() else None,
        "killed": out_of_memory(folder, is_v1=is_v1),
        "service_mb": round(occupied(pid), 1),
        "sandboxes_mb": round(sum(occupied(one) for one in memory.tree(pid) if one != pid), 1),
    }


def out_of_memory(folder: Path, *, is_v1: bool) -> int:
    """How often the kernel killed a process of the group."""
    text = (folder / ("memory.oom_control" if is_v1 else "memory.events")).read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("oom_kill "))


def occupied(pid: int) -> float:
    """The share of a process (PSS); nothing once it is gone."""
    try:
        return memory.pss_mb(pid)
    except (FileNotFoundError, ProcessLookupError):
        return 0.0


def measure(asked: argparse.Namespace) -> dict[str, Any]:
    """Start, ask, look, end."""
    with limited(asked.mb, asked.cores) as group, tempfile.TemporaryDirectory(prefix="gristmill-bench-") as place:
        folder = Path(place)
        folder.chmod(0o755)
        began = time.perf_counter()
        process, url = start(group, folder, asked.config)
        try:
            ready = time.perf_counter() - began
            idle = held(group, process.pid)
            took = asyncio.run(asyncio.wait_for(ask(url, asked.executions, asked.askers), 600))
            after = held(group, process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(STOP_SECONDS)
    cuts = statistics.quantiles(took, n=100)
    return {
        "limit_mb": asked.mb, "cores": asked.cores, "config": asked.config.name, "ready_s": round(ready, 2),
        "executions": len(took), "askers": asked.askers, "p50_ms": round(cuts[49], 1), "p99_ms": round(cuts[98], 1),
        "ready": idle, "after": after,
    }  # fmt: skip


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("--cores", type=float, default=0.5)
    parser.add_argument("--executions", type=int, default=100)
    parser.add_argument("--askers", type=int, default=2)
    parser.add_argument("--config", type=Path, default=SETTINGS)
    found = measure(parser.parse_args())
    document = {"machine": machine.describe(), "commit": machine.commit(), **found}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(document, indent=2) + "\n")
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
