"""``gristmill demo --app``: answers questions over the example apps live, and counts their tokens in three ways.

The example apps are not part of the package. They are imported from a checkout of the repository; without one it is an error.
"""

import importlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from rich.syntax import Syntax

import gristmill
from gristmill.errors import ConfigError
from gristmill.serve.cli.terminal.print_tables import Column, print_table
from gristmill.serve.cli.terminal.safe_output import neutralize_text, print_json, stderr, stdout, style_parts

NEXT = (
    "gristmill serve --http -c examples/pam/gristmill.toml   watch and approve at http://127.0.0.1:8030/dashboard",
    "gristmill init                                          take the servers of the MCP clients on this machine",
    "gristmill install claude-code --dry-run                 show what would change in a client that uses Gristmill",
    "make bench-tokens                                       all tasks, with the ones where Gristmill costs more",
)


def find_checkout() -> Path:
    """Returns the folder with the examples: the checkout that the package was installed from, or the working directory.

    Raises:
        ConfigError: neither folder has the examples.
    """
    for folder in (Path(gristmill.__file__).resolve().parents[2], Path.cwd()):
        if (folder / "examples" / "three_ways" / "measure.py").is_file():
            return folder
    raise ConfigError(
        "the example apps are not part of the installed package: run this in a checkout of the repository, "
        "or run `gristmill demo` without --app"
    )


async def show_apps(app: str, count: int, *, json: bool) -> None:
    """Runs ``count`` tasks of ``app`` (or of all apps) and prints each when it is done.

    Raises:
        ConfigError: there is no checkout of the repository.
    """
    sys.path.insert(0, str(find_checkout()))
    tasks: Any = importlib.import_module("examples.tasks")
    known = {task.id: task for task in tasks.TASKS}
    chosen = [known[name] for name in tasks.SHOWN if app in ("all", known[name].app)][:count]
    rows: list[dict[str, Any]] = []
    with _make_state_folder() as folder:
        for name in dict.fromkeys(task.app for task in chosen):
            rows += await _run_app(name, [task for task in chosen if task.app == name], folder / name, json=json)
    if json:
        print_json({"tasks": rows, "total": _sum_tokens(rows)})
    else:
        _print_totals(rows)


@contextmanager
def _make_state_folder() -> Generator[Path]:
    """Makes a temporary state folder, so that the demonstration does not touch the user's own."""
    with tempfile.TemporaryDirectory(prefix="gristmill-demo-") as folder:
        Path(folder).chmod(0o755)  # code runs as another user when we are root
        yield Path(folder)


async def _run_app(app: str, tasks: list[Any], state: Path, *, json: bool) -> list[dict[str, Any]]:
    measure: Any = importlib.import_module("examples.three_ways.measure")
    rows: list[dict[str, Any]] = []
    status = stderr().status(f"starting the servers of {app} (the first time it also generates their records)")
    status.start()
    try:
        async with measure.open_app(app, state=state) as opened:
            for task in tasks:
                status.update(f"{task.id}: {task.question[:80]}")
                row = await _measure_task(opened, task)
                rows.append(row)
                if not json:
                    status.stop()
                    _print_task(row)
                    status.start()
    finally:
        status.stop()
    return rows


async def _measure_task(opened: Any, task: Any) -> dict[str, Any]:
    started = time.perf_counter()
    found = await opened.measure(task)
    calls: Counter[str] = Counter(found.calls)
    return {
        "id": task.id,
        "question": task.question,
        "program": task.program,
        "calls": dict(calls),
        "result": found.outcome.result,
        "error": found.outcome.error,
        "is_right": found.is_right,
        "milliseconds": found.outcome.execution_time_ms,
        "seconds_three_ways": round(time.perf_counter() - started, 2),
        "tokens": {"direct": to_builtins(found.direct), "searched": to_builtins(found.searched), "ours": to_builtins(found.ours)},
    }


def _print_task(row: dict[str, Any]) -> None:
    out = stdout()
    out.rule(row["id"], align="left")
    out.print(neutralize_text(row["question"]), style="bold")
    out.print(Syntax("", "python", background_color="default").highlight(row["program"].rstrip()))
    calls = ", ".join(f"{tool} x {times}" if times > 1 else tool for tool, times in row["calls"].items())
    out.print(f"→ called from inside the sandbox: {neutralize_text(calls)}", style="cyan")
    if row["error"]:
        out.print(neutralize_text(row["error"]), style="red")
    verdict = ("the database agrees", "green") if row["is_right"] else ("the database disagrees", "red")
    out.print(neutralize_text(str(row["result"])), style="bold green" if row["is_right"] else "bold red")
    out.print(style_parts(f"{row['milliseconds']:.0f} ms · ", verdict, " · ", *_format_tokens(row["tokens"])), end="\n\n")


def _format_tokens(tokens: dict[str, dict[str, Any]]) -> tuple[str, tuple[str, str]]:
    direct, searched, ours = (tokens[way]["input"] for way in ("direct", "searched", "ours"))
    return f"input tokens: direct {direct:,} · search then call {searched:,} · ", (f"Gristmill {ours:,}", "bold")


def _sum_tokens(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {way: sum(row["tokens"][way]["input"] for row in rows) for way in ("direct", "searched", "ours")}


def _print_totals(rows: list[dict[str, Any]]) -> None:
    out, totals = stdout(), _sum_tokens(rows)
    out.print("input tokens (o200k)", style="bold")
    titles = ("tool calls", "ms", "direct", "search then call", "Gristmill")
    print_table(
        ("task", *(Column(title=title, kind="number") for title in titles)),
        [
            (row["id"], str(sum(row["calls"].values())), f"{row['milliseconds']:.0f}",
             *(f"{row['tokens'][way]['input']:,}" for way in totals))
            for row in rows
        ],
        total=[(cell, "bold") for cell in ("total", "", "", *(f"{totals[way]:,}" for way in totals))],
    )  # fmt: skip
    out.print("Next:", style="dim")
    for line in NEXT:
        out.print(f"  {line}", style="dim")
