"""What search costs: time per question, time to build and to load, memory. Each size in a process of its own."""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from retrieval import SETS, RetrievalSet, load_set

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.model import Tool

SIZES = (3_265, 50_000)
QUERIES = 1_000
ROUNDS = 3


def as_tools(data: RetrievalSet) -> list[Tool]:
    """The definitions of a set as the product knows them."""
    return [
        Tool(server=tool.server, name=tool.name, description=tool.description, input_schema=tool.schema) for tool in data.tools
    ]


def measure_cost() -> dict[str, Any]:
    """The costs at each size."""
    # numpy reads the number of threads when it is first imported, so each size gets a fresh, single-threaded process.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    costs: dict[str, Any] = {}
    for size in SIZES:
        command = [sys.executable, __file__, str(size)]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        costs[str(size)] = json.loads(found.stdout)
    return costs


def cost_at(size: int) -> dict[str, float]:
    """Build, save, load and ask; the best of three rounds, as other work on the machine only ever adds."""
    sets = [load_set(name) for name in SETS]
    tools = _catalogue([tool for data in sets for tool in as_tools(data)], size)
    queries = [query for data in sets for query in data.queries]
    random.Random(0).shuffle(queries)
    before = _resident_mb()
    started = time.perf_counter()
    index = ToolIndex.build(tools)
    build = time.perf_counter() - started
    index.search("warm", 5)
    memory = _resident_mb() - before
    rounds = [_ask(index, queries[:QUERIES]) for _ in range(ROUNDS)]
    p50, p95 = min(times[len(times) // 2] for times in rounds), min(times[len(times) * 95 // 100] for times in rounds)
    return {
        "p50_ms": round(p50, 3),
        "p95_ms": round(p95, 3),
        "build_s": round(build, 3),
        "load_ms": round(_load_ms(index, tools), 1),
        "memory_mb": round(memory, 1),
    }


def _catalogue(tools: list[Tool], size: int) -> list[Tool]:
    random.Random(0).shuffle(tools)
    copies = range(1 + size // len(tools))
    return [replace(tool, server=f"{tool.server} {copy}") if copy else tool for copy in copies for tool in tools][:size]


def _ask(index: ToolIndex, queries: Sequence[str]) -> list[float]:
    times: list[float] = []
    for query in queries:
        started = time.perf_counter()
        index.search(query, 5)
        times.append((time.perf_counter() - started) * 1e3)
    return sorted(times)


def _load_ms(index: ToolIndex, tools: Sequence[Tool]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.bin"
        index.save(path)
        times: list[float] = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            assert ToolIndex.load(path, tools) is not None
            times.append((time.perf_counter() - started) * 1e3)
    return min(times)


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    print(json.dumps(cost_at(int(sys.argv[1]))))
