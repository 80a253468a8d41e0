"""`gristmill sessions` and `gristmill skills`, as a person and as a script uses them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SAVE = """
def double(n: int) -> int:
    "Double a number."
    return n * 2
from skills import save
from session import kv
kv["k"] = 1
open("out.txt", "w").write("from code")
save(double, tests="assert double(2) == 4", level="user")
"""


@pytest.fixture
def home(state: Path, request: pytest.FixtureRequest) -> Path:
    folder = state / f"kept-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    return folder


def cli(home: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gristmill", *arguments],
        env={**os.environ, "GRISTMILL_STORE__PATH": str(home), "NO_COLOR": "1", "COLUMNS": "200"},
        cwd=home, input=text, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def ok(home: Path, *arguments: str, text: str | None = None) -> str:
    done = cli(home, *arguments, text=text)
    assert (done.returncode, done.stderr if arguments[0] != "run" else "") == (0, "")
    return done.stdout


def parsed(home: Path, *arguments: str) -> Any:
    return json.loads(ok(home, *arguments, "--json"))


def test_a_session_is_listed_shown_filled_read_and_deleted(home: Path) -> None:
    ok(home, "run", "-", "--session", "ann", text=SAVE)
    assert [row["name"] for row in parsed(home, "sessions", "list")] == ["ann"]
    shown = parsed(home, "sessions", "show", "ann")
    assert (shown["keys"], shown["caller"], shown["bytes"] > 0) == (["k"], "local", True)
    (home / "rows.csv").write_text("a,b\n")
    ok(home, "sessions", "put", "ann", "rows.csv", "in/rows.csv")
    assert [(row["path"], row["mime"]) for row in parsed(home, "sessions", "files", "ann")["entries"]] == [
        ("in", "inode/directory"), ("in/rows.csv", "text/csv"), ("out.txt", "text/plain"),
    ]  # fmt: skip
    assert ok(home, "run", "-", "--session", "ann", text="print(open('in/rows.csv').read())").startswith("a,b")
    assert ok(home, "sessions", "get", "ann", "out.txt") == "from code"
    ok(home, "sessions", "get", "ann", "out.txt", "copy.txt")
    assert (home / "copy.txt").read_text() == "from code"
    ok(home, "sessions", "delete", "ann", "in")
    assert "out.txt" in ok(home, "sessions", "files", "ann")
    assert "ann" in ok(home, "sessions", "list")
    assert "handle" in ok(home, "sessions", "show", "ann")
    assert (ok(home, "sessions", "prune"), parsed(home, "sessions", "prune")) == ("", [])
    ok(home, "sessions", "delete", "ann")
    assert parsed(home, "sessions", "list") == []
    assert cli(home, "sessions", "show", "ann").returncode == 2


def test_a_skill_is_listed_shown_compared_carried_and_deleted(home: Path) -> None:
    for body in ("n * 2", "n + n"):
        ok(home, "run", "-", "--session", "ann", text=SAVE.replace("n * 2", body))
    row = parsed(home, "skills", "list")[0]
    assert (row["name"], row["version"], row["level"], row["tested"]) == ("double", 2, "user", True)
    assert "Double a number." in ok(home, "skills", "list")
    assert "return n + n" in ok(home, "skills", "show", "double")
    assert parsed(home, "skills", "show", "double", "--version", "1")["source"].endswith("return n * 2\n")
    assert "-    return n * 2" in ok(home, "skills", "diff", "double", "1")
    assert ok(home, "skills", "export", "double", "carried").strip() == "carried/double"
    ok(home, "skills", "delete", "double")
    assert cli(home, "skills", "show", "double").returncode == 2
    assert ok(home, "skills", "import", "carried/double").strip() == "skills.double version 1"
    assert ok(home, "run", "-", text="from skills import double\nprint(double(21))").startswith("42")
    (home / "carried/double/skill.py").write_text("changed")
    assert cli(home, "skills", "import", "carried/double").returncode == 2


def test_a_hostile_file_name_cannot_steer_the_terminal(home: Path) -> None:
    ok(home, "run", "-", "--session", "ann", text="open('\\x1b[2J\\u202e[red]x', 'w').close()")
    listed = ok(home, "sessions", "files", "ann")
    assert ("\x1b" in listed, "\u202e" in listed, "\\x1b[2J\\xe2\\x80\\xae[red]x" in listed) == (False, False, True)
