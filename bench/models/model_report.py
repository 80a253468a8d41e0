"""Adds up what was saved of a run: one document, and a table of it."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.models.judge import FAILURES
from bench.models.toolboxes import ARMS

METHOD = """Each task is one conversation with a real model at temperature 0 with a fixed seed. direct: all definitions of the
app's servers as tools, results in full. search: our search_tools alone, each search adds the definitions of what it found. code:
our search_tools and execute_code, with the gateway's instructions. All three use real MCP servers. Tokens are those that the
endpoint counted."""
KEPT = ("task", "place", "arm", "is_right", "failure", "attempts", "failed_attempts", "searches", "calls_as_text", "requests",
        "tokens_in", "tokens_cached", "tokens_out", "model_seconds", "seconds", "answer", "truth")  # fmt: skip
SUMMED = ("attempts", "failed_attempts", "searches", "calls_as_text", "requests", "tokens_in", "tokens_cached", "tokens_out",
          "model_seconds", "seconds")  # fmt: skip


def summarize(folder: Path) -> dict[str, Any]:
    """Reads all results of a run, and adds them up for each way; the transcripts stay in their files."""
    rows = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    about = json.loads((folder / "about" / "run.json").read_text())
    return {
        "command": "make bench-models",
        "method": METHOD,
        "label": folder.name,
        **about,
        "arms": {arm: _add_up([row for row in rows if row["arm"] == arm]) for arm in ARMS},
        "tasks": [{key: row[key] for key in KEPT} for row in rows],
    }


def _add_up(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    failures = Counter(row["failure"] for row in rows if row["failure"])
    return {
        "tasks": len(rows),
        "right": sum(row["is_right"] for row in rows),
        **{key: round(sum(row[key] for row in rows), 1) for key in SUMMED},
        "failures": {name: failures[name] for name in FAILURES if failures[name]},
        "errors": dict(Counter(map(_name_error, _list_errors(rows))).most_common(12)),
    }


def _list_errors(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [step["said"] for row in rows for step in row["steps"] if step["is_error"]]


def _name_error(said: str) -> str:
    """Returns the class of an error text: the name of the exception at the end of a traceback, or its first words."""
    for line in reversed(said.splitlines()):
        name = line.partition(":")[0].strip().removeprefix("error").strip()
        if name.isidentifier() and (name.endswith(("Error", "Exception")) or name in ("KeyError", "StopIteration", "ToolFailed")):
            return name
    return " ".join(said.split()[:6])


def write_table(document: dict[str, Any]) -> str:
    """Writes the table of a run."""
    lines = [
        f"{document['model']}, gateway {document['source']}", "",
        f"{'arm':8} {'right':>9} {'attempts':>9} {'failed':>7} {'requests':>9} {'tokens in':>11} {'out':>8} {'s':>7}  failures",
    ]  # fmt: skip
    for arm, found in document["arms"].items():
        if found["tasks"]:
            failures = ", ".join(f"{name} {count}" for name, count in found["failures"].items()) or "none"
            lines.append(
                f"{arm:8} {found['right']:4}/{found['tasks']:<4} {found['attempts']:9} {found['failed_attempts']:7} "
                f"{found['requests']:9} {found['tokens_in']:11,} {found['tokens_out']:8,} {found['seconds']:7.0f}  {failures}"
            )
    return "\n".join(lines)
