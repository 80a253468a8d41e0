"""``gristmill demo --app``: questions to the example apps, answered live, with what they cost in tokens three ways.

The examples are no part of the package: they are imported from the checkout, and without one this says so.
"""

import importlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gristmill
from gristmill.errors import ConfigError
from gristmill.serve.cli.terminal.safe_output import harmless, print_json, stderr, stdout

NEXT = (
    "gristmill serve --http -c examples/pam/gristmill.toml   then watch and approve at http://127.0.0.1:8030/dashboard",
    "gristmill init                                          your own servers: those of the MCP clients on this machine",
    "gristmill install claude-code --dry-run                 what would change in a client, so that it uses Gristmill",
    "make bench-tokens                                       all tasks, with the ones where we are dearer",
)


def checkout() -> Path:
    """The folder that has the examples: where the package is developed, or the working directory.

    Raises:
        ConfigError: neither has them.
    """
    for folder in (Path(gristmill.__file__).resolve().parents[2], Path.cwd()):
        if (folder / "examples" / "three_ways" / "measure.py").is_file():
            return folder
    raise ConfigError(
        "the example apps are not part of the package; run this in a checkout of the repository "
        "(`gristmill demo` without --app works anywhere)"
    )


async def show_apps(app: str, count: int, *, json: bool) -> None:
    """Run ``count`` tasks of ``app`` (or of all) and show each as it is done.

    Raises:
        ConfigError: there is no checkout.
    """
    sys.path.insert(0, str(checkout()))
    tasks: Any = importlib.import_module("examples.tasks")
    known = {task.id: task for task in tasks.TASKS}
    chosen = [known[name] for name in tasks.SHOWN if app in ("all", known[name].app)][:count]
    rows: list[dict[str, Any]] = []
    with _state() as folder:
        for name in dict.fromkeys(task.app for task in chosen):
            rows += await _show_app(name, [task for task in chosen if task.app == name], folder / name, json=json)
    if json:
        print_json({"tasks": rows, "total": _totals(rows)})
    else:
        _show_end(rows)


@contextmanager
def _state() -> Generator[Path]:
    """A place for what the demonstration keeps, so that it touches nothing of the user's."""
    with tempfile.TemporaryDirectory(prefix="gristmill-demo-") as folder:
        Path(folder).chmod(0o755)  # code runs as another user when we are root
        yield Path(folder)


async def _show_app(app: str, tasks: list[Any], state: Path, *, json: bool) -> list[dict[str, Any]]:
    measure: Any = importlib.import_module("examples.three_ways.measure")
    rows: list[dict[str, Any]] = []
    status = stderr().status(f"starting the servers of {app} (the first time their records are generated)")
    status.start()
    try:
        async with measure.open_app(app, state=state) as opened:
            for task in tasks:
                status.update(f"{task.id}: {task.question[:80]}")
                row = await _measured(opened, task)
                rows.append(row)
                if not json:
                    status.stop()
                    _show_task(row)
                    status.start()
    finally:
        status.stop()
    return rows


async def _measured(opened: Any, task: Any) -> dict[str, Any]:
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
        "tokens": {"direct": asdict(found.direct), "searched": asdict(found.searched), "ours": asdict(found.ours)},
    }


def _show_task(row: dict[str, Any]) -> None:
    from rich.syntax import Syntax

    out = stdout()
    out.rule(row["id"], align="left")
    out.print(harmless(row["question"]), style="bold", markup=False)
    out.print(Syntax("", "python", background_color="default").highlight(row["program"].rstrip()))
    calls = ", ".join(f"{tool} x {times}" if times > 1 else tool for tool, times in row["calls"].items())
    out.print(f"→ called from inside the sandbox: {harmless(calls)}", style="cyan", markup=False)
    if row["error"]:
        out.print(harmless(row["error"]), style="red", markup=False)
    verdict = "[green]the database agrees[/]" if row["is_right"] else "[red]the database disagrees[/]"
    out.print(harmless(str(row["result"])), markup=False, style="bold green" if row["is_right"] else "bold red")
    out.print(f"{row['milliseconds']:.0f} ms · {verdict} · {_tokens(row['tokens'])}\n")


def _tokens(tokens: dict[str, dict[str, Any]]) -> str:
    direct, searched, ours = (tokens[way]["input"] for way in ("direct", "searched", "ours"))
    return f"input tokens: direct {direct:,} · search then call {searched:,} · [bold]Gristmill {ours:,}[/]"


def _totals(rows: list[dict[str, Any]]) -> dict[str, int]:
    return {way: sum(row["tokens"][way]["input"] for row in rows) for way in ("direct", "searched", "ours")}


def _show_end(rows: list[dict[str, Any]]) -> None:
    from rich.table import Table

    out, totals = stdout(), _totals(rows)
    table = Table("task", "tool calls", "ms", "direct", "search then call", "Gristmill", title="input tokens (o200k)")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        figures = [f"{row['tokens'][way]['input']:,}" for way in totals]
        table.add_row(row["id"], str(sum(row["calls"].values())), f"{row['milliseconds']:.0f}", *figures)
    table.add_row("total", "", "", *(f"{totals[way]:,}" for way in totals), style="bold")
    out.print(table)
    out.print("Next:", style="dim")
    for line in NEXT:
        out.print(f"  {line}", style="dim", markup=False)
