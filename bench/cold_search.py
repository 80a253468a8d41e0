"""How long `gristmill search` takes from a cold start with fifty servers configured: `python -m bench.cold_search`.

The servers are stdio entries that would sleep for a minute if they were started; their tools are remembered from "an earlier
run", which this script writes; the search index is made by a first search that does not count. Each round runs `python -c pass`
and the search one after the other, so that a busy machine slows both: trust CPU time and the ratio more than the milliseconds
on the clock. Writes `bench/out/cold_search.json`.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.machine import commit, describe
from gristmill.config.tree import load_config
from gristmill.model import Tool
from gristmill.upstream.listing.remembered_tools import RememberedTools, save_remembered_tools

SERVERS, TOOLS = 50, 20
WORDS = "customer invoice order ticket file branch message event user report".split()


def prepare(folder: Path) -> None:
    """A configuration of fifty slow servers, and what is remembered of them."""
    sleeper = json.dumps(["-c", "import time; time.sleep(60)"])
    entries = [f"[servers.s{i}]\ncommand = {json.dumps(sys.executable)}\nargs = {sleeper}\n" for i in range(SERVERS)]
    (folder / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(folder / 'state'))}\n" + "\n".join(entries))
    for name, config in load_config(folder / "gristmill.toml").servers.items():
        save_remembered_tools(
            folder / "state" / "upstreams", name, config, RememberedTools(era="legacy", tools=tuple(tools(name)))
        )


def tools(server: str) -> list[Tool]:
    """Tools of ordinary size."""
    found: list[Tool] = []
    for i in range(TOOLS):
        noun, verb = WORDS[i % len(WORDS)], ("get", "update")[i // len(WORDS)]
        properties = {name: {"type": "string", "description": f"The {name} of the {noun}."} for name in ("id", "name", "state")}
        schema = {"type": "object", "properties": properties, "required": ["id"]}
        found.append(
            Tool(server=server, name=f"{verb}_{noun}", description=f"{verb.title()} a {noun} of {server}.", input_schema=schema)
        )
    return found


def measure(command: list[str], folder: Path) -> tuple[float, float]:
    """Wall and CPU seconds of one run."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    # As an installed package runs: with the bytecode that the first search, which does not count, has written.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environ)
    if command[1] == "-m" and "get_invoice(" not in done.stdout:
        sys.exit(f"the search found nothing: {done.stdout} {done.stderr}")
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(rounds: int) -> dict[str, Any]:
    """Interleaved runs."""
    search = [sys.executable, "-m", "gristmill", "search", "get the invoice", "--limit", "3"]
    nothing = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        measure(search, folder)  # makes the index
        rows = [(measure(nothing, folder), measure(search, folder)) for _ in range(rounds)]
    return {
        "servers": SERVERS,
        "tools": SERVERS * TOOLS,
        "python_ms": statistics.median(nothing[0] for nothing, _ in rows) * 1000,
        "search_ms": statistics.median(found[0] for _, found in rows) * 1000,
        "search_ms_best": min(found[0] for _, found in rows) * 1000,
        "search_cpu_ms": statistics.median(found[1] for _, found in rows) * 1000,
        "ratio": statistics.median(found[0] / nothing[0] for nothing, found in rows),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    result = main(parser.parse_args().rounds)
    out = Path(__file__).parent / "out"
    out.mkdir(exist_ok=True)
    (out / "cold_search.json").write_text(
        json.dumps({"method": __doc__, "machine": describe(), "commit": commit(), "result": result}, indent=1)
    )
    print("search {search_ms:.0f} ms (best {search_ms_best:.0f}), CPU {search_cpu_ms:.0f} ms".format(**result))
    print("python {python_ms:.0f} ms, ratio {ratio:.1f}".format(**result))
