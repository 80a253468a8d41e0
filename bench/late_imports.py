"""What each import inside a function saves: `python -m bench.late_imports`; `--write` puts the table into the page of habits.

For every start that people wait for (`STARTS`) the modules are recorded that are loaded when it has done what they wait for. If
a module among them has an import inside a function, then the same modules are loaded in a new process, and the CPU time is
taken that importing the late module adds, best of several. That is what the start would take longer if the import stood at the
top of its file. Of several starts the one with the largest saving is shown.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.house import ROOT, read_modules

from bench.cold_search import prepare
from bench.startup import HELLO
from gristmill.serve.cli.verb_table import VERBS

PAGE = Path(__file__).parents[1] / "docs" / "contributing" / "habits.md"
TABLE = re.compile(r"(<!-- late imports -->\n).*?(<!-- /late imports -->)", re.DOTALL)
LEAST_MILLISECONDS = 5.0
"""What a late import must save at one start to be worth its place."""
OPTIONAL = {
    "deno": "in the extra `typescript`",
    "gristmill.guard.program.typescript.check_typescript": "in the extra `typescript`",
    "gristmill.guard.program.typescript.prepare_typescript": "in the extra `typescript`",
    "gristmill.chat.chat": "in the extra `chat`",
    "gristmill.serve.cli.terminal.chat.converse": "in the extra `chat`",
    "gristmill.serve.cli.terminal.answer_tasks": "in the extra `chat`",
    "gristmill.rollout.feature_flags": "in the extra `openfeature`",
    "gristmill.serve.langchain.deep_sandbox": "in the extra `deepagents`",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter": "not needed where the host program exports traces itself",
    "readline": "missing on some systems",
}
"""Modules that are imported late because they may not be there."""
PORT = 18_431
LIST_MODULES = """
import atexit, os, signal, sys
def write(*_):
    with open(os.environ["LOADED"], "w") as file:
        file.write("\\n".join(sys.modules))
def write_and_end(*_):
    write()
    os._exit(0)
atexit.register(write)
signal.signal(signal.SIGUSR1, write_and_end)
"""
COMMAND_LINE = "from gristmill.__main__ import main\nmain()"
"""What runs `gristmill` after the lines above."""


class Saving(NamedTuple):
    """What one late import saves at one start."""

    file: str
    imported: str
    start: str
    milliseconds: float


class Start(NamedTuple):
    """One start: its program, its arguments, and what waits until it has done what people wait for (None: it ends by itself)."""

    program: str
    arguments: Sequence[str] = ()
    wait: Callable[[subprocess.Popen[bytes]], None] | None = None


def shake_hands(process: subprocess.Popen[bytes]) -> None:
    """Waits for the answer to `initialize`."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(HELLO).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()


def ask_health(process: subprocess.Popen[bytes]) -> None:
    """Waits until the HTTP service answers."""
    while process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=5).close()
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
    sys.exit("the HTTP service did not start")


STARTS = {
    "gristmill --help": Start(COMMAND_LINE, ["--help"]),
    "gristmill search": Start(COMMAND_LINE, ["search", "get the invoice"]),
    "gristmill serve": Start(COMMAND_LINE, ["serve"], shake_hands),
    "gristmill serve --http": Start(COMMAND_LINE, ["serve", "--http", "--port", str(PORT)], ask_health),
    "gristmill tools, servers that are new": Start(COMMAND_LINE, ["tools", "--config", "new.toml"]),
    "gristmill run": Start(COMMAND_LINE, ["run", "program.py", "--json", "--config", "new.toml"]),
    "import gristmill": Start("import gristmill"),
    "Runtime.open, until the template starts": Start("import gristmill\ngristmill.Runtime"),
    **{f"gristmill {verb.name} --help": Start(COMMAND_LINE, [verb.name, "--help"]) for verb in VERBS},
}


def list_loaded(start: Start, folder: Path) -> list[str]:
    """Returns the modules that are loaded when ``start`` has done what people wait for."""
    file = folder / "loaded"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ = {**kept, "LOADED": str(file), "GRISTMILL_STORE__PATH": str(folder / "state")}
    command = [sys.executable, "-c", LIST_MODULES + start.program, *start.arguments]
    with subprocess.Popen(
        command, cwd=folder, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        if start.wait is None:
            process.communicate(timeout=60)
        else:
            start.wait(process)
            process.send_signal(signal.SIGUSR1)
            process.wait(timeout=60)
    return file.read_text().splitlines()


def measure_import(loaded: Sequence[str], late: str, rounds: int) -> float:
    """Returns the milliseconds of CPU time that importing ``late`` adds after ``loaded``; infinite if it is missing."""
    program = (
        "import gc, sys, time\nfrom importlib import import_module\ngc.set_threshold(50_000)\n"
        f"for name in {list(loaded)!r}:\n"
        "    try: name in sys.modules or import_module(name)\n"
        "    except ImportError: pass\n"
        f"began = time.process_time()\ntry: import_module({late!r})\nexcept ImportError: print('inf')\n"
        "else: print(1000 * (time.process_time() - began))"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in range(rounds)]
    return min(float(run.stdout.splitlines()[-1]) for run in runs)


def choose_saving(savings: Sequence[Saving]) -> Saving | None:
    """Returns the largest saving; that of a verb's help page counts only if no other start saves enough."""
    often = [saving for saving in savings if not saving.start.endswith(" --help") or saving.start == "gristmill --help"]
    worth = [saving for saving in often if saving.milliseconds >= LEAST_MILLISECONDS]
    return max(worth or savings, key=lambda saving: saving.milliseconds, default=None)


def find_savings(rounds: int) -> list[Saving]:
    """Measures every import inside a function; one that saves nothing at any start has 0 milliseconds and no start."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        (folder / "new.toml").write_text('[servers.one]\ncommand = "false"\n')
        (folder / "program.py").write_text("1")
        list_loaded(STARTS["gristmill search"], folder)  # makes the index
        starts = {name: list_loaded(start, folder) for name, start in STARTS.items()}
    found: list[Saving] = []
    for module in read_modules():
        file = str(module.path.relative_to(ROOT))
        for late in sorted(module.late_imports):
            savings = [
                Saving(file, late, name, measure_import(loaded, late, rounds))
                for name, loaded in starts.items()
                if module.dotted in loaded and late not in loaded
            ]
            found.append(choose_saving(savings) or Saving(file, late, "", 0.0))
            print(f"{found[-1].milliseconds:8.1f} ms  {file}: {late}  ({found[-1].start})", file=sys.stderr)
    return found


def render_table(savings: Sequence[Saving]) -> str:
    """Returns the table of the page of habits."""
    lines = ["| file | imports late | saves | at |", "|---|---|---:|---|"]
    for saving in savings:
        reason = OPTIONAL.get(saving.imported)
        time = "" if reason else f"{saving.milliseconds:.0f} ms"
        lines.append(f"| `{saving.file}` | `{saving.imported}` | {time} | {reason or saving.start} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures, prints, and writes the table; says which imports are not worth their place."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write the table into docs/contributing/habits.md")
    asked = parser.parse_args()
    savings = find_savings(asked.rounds)
    table = render_table(savings)
    print(table)
    if asked.write:
        PAGE.write_text(TABLE.sub(lambda found: found[1] + table + found[2], PAGE.read_text()))
    if idle := [f"{s.file}: {s.imported}" for s in savings if s.milliseconds < LEAST_MILLISECONDS and s.imported not in OPTIONAL]:
        sys.exit(f"these save less than {LEAST_MILLISECONDS:g} ms and belong to the top of their file: {', '.join(idle)}")


if __name__ == "__main__":
    main()
