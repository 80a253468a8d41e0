"""``python -m bench.growth``: what each answer costs as the history behind it grows, printed as curves with their exponents.

A store is filled with executions of ten calls each, through the same code that records them in use; then each answer is timed at
each size, as the median of several tries. The exponent is the slope of time over size on logarithmic scales between the first and
the last size: 0 is flat, 1 grows as the history does. Writes ``bench/out/growth.json``.
"""

import argparse
import asyncio
import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from bench import machine
from gristmill import Runtime
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.config.tree import Config, StoreConfig
from gristmill.ledger.audit.audit import Audit
from gristmill.ledger.audit.audit_entries import AuditFilter, AuditRecord
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution
from gristmill.ledger.tokens.spent_tokens import SpentTokens
from gristmill.runtime.open.open_records import load_ledger_key, open_config_store
from gristmill.store.base import Store

OUT = Path(__file__).parent / "out" / "growth.json"
CALLS = 10
DAY = 86_400.0
DAYS = 30
"""The history is spread over this many days."""
TENANTS, CALLERS, SESSIONS_PER_CALLER = 5, 4, 25
TOOLS = tuple(f"server{number % 6}.tool_{number}" for number in range(60))
BATCH = 200

Ask = Callable[[], Awaitable[Any]]


def make_records(number: int, at: float) -> tuple[list[AuditRecord], SpentExecution, list[SpentCall]]:
    """Returns the records of one execution and its calls."""
    tenant, caller = f"tenant-{number % TENANTS}", f"caller-{number % CALLERS}"
    session = f"session-{number % (CALLERS * SESSIONS_PER_CALLER)}"
    id_ = f"{number:032x}"
    calls = [TOOLS[(number * 7 + place * place) % len(TOOLS)] for place in range(CALLS)]
    failed = number % 50 == 0
    records = [
        AuditRecord(
            kind="call", id=f"{id_}/{place}", parent=id_, time=at + place / 100, tenant=tenant, session=session, caller=caller,
            tool=tool, arguments={"user_id": number, "since": "2026-01-01"}, decision="allow", status="ok", bytes=2_000, ms=3.0,
        )
        for place, tool in enumerate(calls)
    ]  # fmt: skip
    code = "from servers import server1\nrows = server1.tool_1(user_id=1)\nsum(row['amount'] for row in rows)\n" * 3
    records.append(
        AuditRecord(
            kind="execution", id=id_, time=at + 1, tenant=tenant, session=session, caller=caller, code=code,
            status="failed" if failed else "ok", ms=120.0,
        )
    )  # fmt: skip
    spent = SpentExecution(
        execution=id_, conversation=f"session {session}", session=session, caller=caller, at=at, ms=120.0,
        status="failed" if failed else "ok", code_tokens=90, code_bytes=300, returned_tokens=40, returned_bytes=150,
    )  # fmt: skip
    spent_calls = [
        SpentCall(
            execution=id_, position=place, tool=tool, server=tool.partition(".")[0], session=session, caller=caller,
            at=at + place / 100, ms=3.0, argument_tokens=12, argument_bytes=40, result_tokens=500, result_bytes=2_000,
        )
        for place, tool in enumerate(calls)
    ]  # fmt: skip
    return records, spent, spent_calls


async def fill(store: Store, audit: Audit, begin: int, end: int, most: int) -> None:
    """Records the executions ``begin`` to ``end`` of a history of ``most`` in all."""
    spent, first = SpentTokens(store), time.time() - DAYS * DAY
    for start in range(begin, end, BATCH):
        for number in range(start, min(end, start + BATCH)):
            # The whole history always covers the same days: the sizes differ in how dense it is.
            records, execution, calls = make_records(number, first + DAYS * DAY * number / most)
            audit.record(*records)
            spent.store_spent(tenant=records[0].tenant, execution=execution, calls=calls)
        await audit.flush()
        await store.flush()


async def time_answer(ask: Ask, tries: int) -> float:
    """Returns the median of ``tries`` in milliseconds."""
    taken: list[float] = []
    for _ in range(tries):
        began = time.perf_counter()
        await ask()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


async def measure(config: Config) -> dict[str, float]:
    """Times every answer over the store of ``config``."""
    began = time.perf_counter()
    async with Runtime.open(config) as runtime:
        found = {"open": (time.perf_counter() - began) * 1000}
        audit, recent = runtime.audit, time.time() - DAY
        filters = {
            "first page": AuditFilter(kind="execution", tenant="tenant-1"),
            "one caller": AuditFilter(kind="execution", tenant="tenant-1", caller="caller-3"),
            "one session": AuditFilter(kind="execution", tenant="tenant-1", session="session-21"),
            "failed": AuditFilter(kind="execution", tenant="tenant-0", status="failed"),
            "one tool": AuditFilter(kind="call", tenant="tenant-1", tool="server1.tool_1"),
            "one server": AuditFilter(kind="call", tenant="tenant-1", tool="server1"),
            "a tool that was never called": AuditFilter(tenant="tenant-1", tool="server1.never"),
            "a tenant that has nothing": AuditFilter(kind="execution", tenant="tenant-9"),
            "an hour of long ago": AuditFilter(
                tenant="tenant-1", since=time.time() - 25 * DAY, until=time.time() - 25 * DAY + 3_600
            ),
            "since yesterday": AuditFilter(kind="execution", tenant="tenant-1", since=recent),
        }
        for name, wanted in filters.items():
            found[f"audit list: {name}"] = await time_answer(lambda wanted=wanted: audit.list(wanted), 7)
        found["audit show"] = await time_answer(lambda: audit.show(f"{7:032x}", tenant="tenant-2"), 7)
        found["stats: one session"] = await time_answer(lambda: runtime.stats(tenant="tenant-1", session="session-21"), 3)
        found["stats: a day"] = await time_answer(lambda: runtime.stats(tenant="tenant-1", since=recent), 3)
        found["stats: a tenant"] = await time_answer(lambda: runtime.stats(tenant="tenant-1"), 3)
        await runtime.execute("1")
        found["execute"] = await time_answer(lambda: runtime.execute("1 + 1"), 25)
        code = "from servers import pick\nlen(pick.read(count=3))"
        await runtime.execute(code)
        found["execute with a call"] = await time_answer(lambda: runtime.execute(code), 25)
        found["audit verify: since yesterday"] = await time_answer(lambda: audit.verify(since=recent), 3)
        found["audit verify: everything"] = await time_answer(audit.verify, 1)
    return found


def fit_exponent(sizes: list[int], values: list[float]) -> float:
    """Returns the slope of ``values`` over ``sizes``, both as logarithms, by least squares."""
    points = [(math.log(size), math.log(max(value, 1e-3))) for size, value in zip(sizes, values, strict=True)]
    mean_x, mean_y = (sum(each[axis] for each in points) / len(points) for axis in (0, 1))
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


async def grow(sizes: list[int], folder: Path, url: str | None) -> dict[str, list[float]]:
    """Fills one store step by step, and times every answer at each size."""
    server = Path(__file__).parent / "soak_server.py"
    config = Config(
        servers={"pick": ServerConfig(command=sys.executable, args=(str(server),))},
        store=StoreConfig(path=folder / "state", url=url),
    )
    curves: dict[str, list[float]] = {}
    before = 0
    for size in sizes:
        async with open_config_store(config) as store:
            audit = Audit(store, load_ledger_key(config), config.state_dir)
            began = time.perf_counter()
            await fill(store, audit, before, size, sizes[-1])
            await audit.close()
        print(f"{size:,} executions recorded in {time.perf_counter() - began:.0f} s", flush=True)
        found = await measure(config)
        disk = sum(file.stat().st_size for file in (folder / "state").glob("gristmill.db*")) if url is None else 0
        found["bytes on disk per execution"] = disk / size
        for name, value in found.items():
            curves.setdefault(name, []).append(value)
        print("\n".join(f"  {name:45s} {value:12.2f}" for name, value in found.items()), flush=True)
        before = size
    return curves


def main() -> None:
    """Fills, times, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="numbers of executions, each with ten calls")
    parser.add_argument("--url", help="a PostgreSQL database instead of SQLite; it must be empty")
    asked = parser.parse_args()
    sizes = [int(size) for size in asked.sizes.split(",")]
    with tempfile.TemporaryDirectory(prefix="gristmill-growth-") as place:
        Path(place).chmod(0o755)
        curves = asyncio.run(grow(sizes, Path(place), asked.url))
    rows: dict[str, dict[str, Any]] = {
        name: {"values": [round(value, 3) for value in values], "exponent": round(fit_exponent(sizes, values), 2)}
        for name, values in curves.items()
    }
    print(f"{'milliseconds at':46s}" + "".join(f"{size:>12,}" for size in sizes) + "    exponent")
    for name, row in rows.items():
        print(f"{name:46s}" + "".join(f"{value:12.2f}" for value in row["values"]) + f"{row['exponent']:12.2f}")
    found = {
        "machine": machine.describe(),
        "commit": machine.commit(),
        "store": "PostgreSQL" if asked.url else "SQLite",
        "sizes": sizes,
        "history": rows,
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
