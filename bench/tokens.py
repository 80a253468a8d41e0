"""What tasks cost in tokens (o200k), three ways: ``python -m bench.tokens``. Prints a table, writes ``bench/out/tokens.json``.

Every task of ``examples/tasks`` runs through the real servers and the real surface. Direct: every definition and every result
is in context; calls that can go together do. Search then call: our own search, then only the definitions found. Gristmill: two
definitions and the instructions, the search's answer, the program, its outcome. Results count as compact JSON, the fewest tokens
that a client could spend on them.
``--idle FILE`` (or GRISTMILL_IDLE_TOOLS) attaches recorded tools that no task needs, with ``--idle-tools`` as their number.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
from examples.opening import APPS
from examples.tasks import TASKS
from examples.three_ways.measure import Idle, Measured, open_app, saving, total

from bench import machine
from bench.idle import load_idle
from gristmill.shaping.token_counter import load_token_counter

FILE = Path(__file__).parent / "out" / "tokens.json"
BARS = {"chat": 2_000, "sync": 3_000, "report": 5_000}
"""Tokens that a task of a kind may have in context with us, in its longest request."""


async def measure(idle: Idle | None) -> list[Measured]:
    """All tasks, app by app, each in a state folder of its own."""
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="gristmill-tokens-") as folder:
        Path(folder).chmod(0o755)  # code runs as another user when we are root
        for app in APPS:
            async with open_app(app, state=Path(folder) / app, idle=idle) as opened:
                for task in TASKS:
                    if task.app == app:
                        found.append(await opened.measure(task))
                        print(f"\r{len(found)}/{len(TASKS)} {task.id:24}", end="", file=sys.stderr, flush=True)
    print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return found


def report(found: Sequence[Measured], idle: Idle | None) -> dict[str, Any]:
    """Everything that was measured, with where."""
    wrong = [each.task.id for each in found if not each.is_right]
    return {
        "command": "make bench-tokens",
        "method": __doc__,
        "vocabulary": "o200k_base",
        "commit": machine.commit(),
        "idle_tools": len(idle.definitions) if idle else 0,
        "idle_tokens": sum(map(load_token_counter() or len, idle.definitions.values())) if idle else 0,
        "tasks": [_row(each) for each in found],
        "total": {way: asdict(total([getattr(each, way) for each in found])) for way in ("direct", "searched", "ours")},
        "saving": {
            f"{field}_vs_{way}": _spread(found, way, field) for way in ("direct", "searched") for field in ("input", "cached")
        },
        "dearer": {
            f"{field}_vs_{way}": [each.task.id for each in found if _saving(each, way, field) < 0]
            for way in ("direct", "searched")
            for field in ("input", "cached")
        },
        "over_their_bar": [each.task.id for each in found if each.ours.context > BARS[each.task.kind]],
        "wrong": wrong,
    }


def _row(each: Measured) -> dict[str, Any]:
    costs = {"direct": asdict(each.direct), "searched": asdict(each.searched), "ours": asdict(each.ours)}
    return {"id": each.task.id, "kind": each.task.kind, "is_right": each.is_right, "nested_calls": len(each.calls), **costs}


def _saving(each: Measured, way: str, field: str) -> float:
    return saving(getattr(each.ours, field), getattr(getattr(each, way), field))


def _spread(found: Sequence[Measured], way: str, field: str) -> dict[str, float]:
    """Savings in percent: of the totals, and how they spread over the tasks."""
    each = [_saving(one, way, field) for one in found]
    tenths = statistics.quantiles(each, n=10, method="inclusive")
    ours, theirs = total([one.ours for one in found]), total([getattr(one, way) for one in found])
    return {
        "total": saving(getattr(ours, field), getattr(theirs, field)),
        "p10": round(tenths[0], 1),
        "p50": round(tenths[4], 1),
        "p90": round(tenths[8], 1),
    }


def show(document: dict[str, Any]) -> str:
    """The table."""
    head = f"{'task':17} {'direct':>9} {'search':>9} {'ours':>7} | {'cached':>9} {'search':>9} {'ours':>7} | output   | requests"
    lines = [f"input tokens (o200k), {document['idle_tools']} idle tools attached", "", head]
    rows: list[dict[str, Any]] = [*document["tasks"], {"id": "total", **document["total"]}]
    for row in rows:
        ways: list[dict[str, Any]] = [row[way] for way in ("direct", "searched", "ours")]
        lines.append(
            f"{row['id']:17} {ways[0]['input']:9,} {ways[1]['input']:9,} {ways[2]['input']:7,} | "
            f"{ways[0]['cached']:9,.0f} {ways[1]['cached']:9,.0f} {ways[2]['cached']:7,.0f} | "
            f"{'/'.join(str(way['output']) for way in ways):14} | {'/'.join(str(way['requests']) for way in ways)}"
        )
    lines += ["", f"{'saving, %':30} {'total':>7} {'p10':>7} {'p50':>7} {'p90':>7}   dearer"]
    for name, spread in document["saving"].items():
        dearer = ", ".join(document["dearer"][name]) or "none"
        figures = " ".join(f"{spread[key]:7.1f}" for key in ("total", "p10", "p50", "p90"))
        lines.append(f"{name.replace('_', ' '):30} {figures}   {dearer}")
    for name, key in (("over their bar", "over_their_bar"), ("wrong answers", "wrong")):
        lines.append(f"{name}: {', '.join(document[key]) or 'none'}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Tokens of all tasks, three ways.")
    parser.add_argument("--idle", type=Path, default=os.environ.get("GRISTMILL_IDLE_TOOLS"), help="file of recorded servers")
    parser.add_argument("--idle-tools", type=int, default=500, help="attach at least so many")
    parser.add_argument("--json", action="store_true", help="print the document instead of the table")
    chosen = parser.parse_args()
    idle = load_idle(Path(chosen.idle), chosen.idle_tools) if chosen.idle else None
    document = report(anyio.run(measure, idle), idle)
    file = FILE.with_stem("tokens_idle") if idle else FILE
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document, indent=1) if chosen.json else show(document))
    sys.exit(1 if document["wrong"] else 0)


if __name__ == "__main__":
    main()
