"""Obvious questions: ``python -m bench.obvious``. Prints how often the tool is first, and among the first three.

The tools of the example apps are read from ``tests/data/obvious_tools.json`` (``--write`` makes it from the running apps);
those of published servers from ``real_tools.jsonl`` of the benchmark data, if it is there.
"""

import argparse
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
from examples.opening import APPS, app_config

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.model import Tool
from gristmill.runtime.runtime import Runtime

ROOT = Path(__file__).resolve().parents[1]
QUESTIONS = ROOT / "bench" / "data" / "obvious_questions.toml"
TOOLS = ROOT / "tests" / "data" / "obvious_tools.json"
SETTLE_SECONDS = 60.0


def load_app_tools() -> list[Tool]:
    """The tools of the example apps, as they were when the file was written."""
    return [Tool(**row) for row in json.loads(TOOLS.read_text(encoding="utf-8"))]


def load_real_tools(file: Path) -> list[Tool]:
    """The tools of published servers; a package that was recorded twice has its tools once."""
    found: dict[str, Tool] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        server: dict[str, Any] = json.loads(line)
        for tool in server["tools"]:
            made = Tool(
                server=server["package"].rpartition("/")[2],
                name=tool["name"],
                description=tool.get("description") or "",
                input_schema=tool.get("inputSchema") or {},
                output_schema=tool.get("outputSchema"),
                annotations=tool.get("annotations") or {},
            )
            found.setdefault(made.key, made)
    return list(found.values())


def rank_questions(tools: Sequence[Tool], questions: Sequence[Sequence[str]]) -> Iterator[tuple[str, int]]:
    """Each question with the place of its tool, from 1; 99 if it is not among the first ten."""
    index = ToolIndex.build(tools)
    for question, *wanted in questions:
        names = [hit.tool.name for hit in index.search(question, 10)]
        yield question, next((place for place, name in enumerate(names, 1) if name in wanted), 99)


async def write_app_tools() -> None:
    """Write the definitions of the example apps' tools, from their running servers."""
    rows: list[dict[str, Any]] = []
    for app in APPS:
        with tempfile.TemporaryDirectory(prefix="gristmill-obvious-") as folder:
            async with Runtime.open(app_config(app, state=Path(folder))) as runtime:
                await runtime.settled(SETTLE_SECONDS)
                for server in await runtime.list_servers():
                    for tool in await runtime.list_tools(server.name):
                        row = {"server": tool.server, "name": tool.name, "description": tool.description}
                        rows.append({**row, "input_schema": tool.input_schema})
    TOOLS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Obvious questions.")
    parser.add_argument("folder", type=Path, nargs="?", help="the benchmark data, for published servers")
    parser.add_argument("--write", action="store_true", help="write the tools of the example apps")
    chosen = parser.parse_args()
    if chosen.write:
        anyio.run(write_app_tools)
    questions = tomllib.loads(QUESTIONS.read_text())
    found = list(rank_questions(load_app_tools(), questions["apps"]))
    if chosen.folder:
        found += rank_questions(load_real_tools(chosen.folder / "real_tools.jsonl"), questions["real"])
    for question, place in found:
        if place > 1:
            print(f"{place:3} {question}", file=sys.stderr)
    first, third = (sum(place <= most for _, place in found) for most in (1, 3))
    print(json.dumps({"questions": len(found), "first": first / len(found), "first three": third / len(found)}))


if __name__ == "__main__":
    main()
