"""How long `gristmill search` takes from a cold start with fifty servers configured: `python -m bench.cold_search`.

The servers are stdio entries that would sleep for a minute if they were started; their tools are remembered from "an earlier
run", which this script writes; the search index and the catalogue that the next search reads are made by a first search that does
not count. Each round runs `python -c pass`, the search, and the search after something has changed (the kept catalogue is
removed) one after the other, so that a busy machine slows all: trust the ratio more than the milliseconds. Writes
`bench/out/cold_search.json`.
"""

import argparse
import json
import os
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
from gristmill.upstream.remembered_tools import Remembered, save

SERVERS, TOOLS = 50, 20
WORDS = "customer invoice order ticket file branch message event user report".split()


def prepare(folder: Path) -> None:
    """A configuration of fifty slow servers, and what is remembered of them."""
    sleeper = json.dumps(["-c", "import time; time.sleep(60)"])
    entries = [f"[servers.s{i}]\ncommand = {json.dumps(sys.executable)}\nargs = {sleeper}\n" for i in range(SERVERS)]
    (folder / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(folder / 'state'))}\n" + "\n".join(entries))
    for name, config in load_config(folder / "gristmill.toml").servers.items():
        save(folder / "state" / "upstreams", name, config, Remembered(era="legacy", tools=tuple(tools(name))))


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


def measure(command: list[str], folder: Path) -> float:
    """Seconds of one run."""
    start = time.perf_counter()
    # As an installed package runs: with the bytecode that the first search, which does not count, has written.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environ)
    if command[1] == "-m" and "get_invoice(" not in done.stdout:
        sys.exit(f"the search found nothing: {done.stdout} {done.stderr}")
    return time.perf_counter() - start


def measure_changed(command: list[str], folder: Path) -> float:
    """Seconds of one run that cannot go by the last catalogue; it keeps a new one."""
    for kept in (folder / "state" / "known").glob("last-*"):
        kept.unlink()
    return measure(command, folder)


def main(rounds: int) -> dict[str, Any]:
    """Interleaved runs."""
    search = [sys.executable, "-m", "gristmill", "search", "get the invoice", "--limit", "3"]
    nothing = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        measure(search, folder)  # makes the index
        rows = [(measure(nothing, folder), measure(search, folder), measure_changed(search, folder)) for _ in range(rounds)]
    return {
        "servers": SERVERS,
        "tools": SERVERS * TOOLS,
        "python_ms": statistics.median(row[0] for row in rows) * 1000,
        "search_ms": statistics.median(row[1] for row in rows) * 1000,
        "search_ms_best": min(row[1] for row in rows) * 1000,
        "changed_ms": statistics.median(row[2] for row in rows) * 1000,
        "ratio": statistics.median(row[1] / row[0] for row in rows),
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
    print("search {search_ms:.0f} ms (best {search_ms_best:.0f}), python {python_ms:.0f} ms, ratio {ratio:.1f}".format(**result))
    print("after something has changed {changed_ms:.0f} ms".format(**result))
