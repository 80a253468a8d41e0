"""`gristmill sessions` and `gristmill skills`, as a person and as a script uses them."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gristmill.errors import Refused, UnknownSession, UnknownSkill
from gristmill.serve.cli.app import app

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
def home(state: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = state / f"kept-{abs(hash(request.node.nodeid))}"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, value in (("GRISTMILL_STORE__PATH", str(folder)), ("NO_COLOR", "1"), ("COLUMNS", "200")):
        monkeypatch.setenv(name, value)
    return folder


def cli(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=text)


def ok(*arguments: str, text: str | None = None) -> str:
    done = cli(*arguments, text=text)
    assert (done.exit_code, done.exception) == (0, None), done.output
    return done.stdout


def parsed(*arguments: str) -> Any:
    return json.loads(ok(*arguments, "--json"))


def test_a_session_is_listed_shown_filled_read_and_deleted(home: Path) -> None:
    ok("run", "-", "--session", "ann", text=SAVE)
    assert [row["name"] for row in parsed("sessions", "list")] == ["ann"]
    shown = parsed("sessions", "show", "ann")
    assert (shown["keys"], shown["caller"], shown["bytes"] > 0) == (["k"], "local", True)
    (home / "rows.csv").write_text("a,b\n")
    ok("sessions", "put", "ann", "rows.csv", "in/rows.csv")
    assert [(row["path"], row["mime"]) for row in parsed("sessions", "files", "ann")["entries"]] == [
        ("in", "inode/directory"), ("in/rows.csv", "text/csv"), ("out.txt", "text/plain"),
    ]  # fmt: skip
    assert ok("run", "-", "--session", "ann", text="print(open('in/rows.csv').read())").startswith("a,b")
    assert ok("sessions", "get", "ann", "out.txt") == "from code"
    ok("sessions", "get", "ann", "out.txt", "copy.txt")
    assert (home / "copy.txt").read_text() == "from code"
    ok("sessions", "delete", "ann", "in")
    assert "out.txt" in ok("sessions", "files", "ann")
    assert "ann" in ok("sessions", "list")
    assert "handle" in ok("sessions", "show", "ann")
    assert (ok("sessions", "prune"), parsed("sessions", "prune")) == ("", [])
    ok("sessions", "delete", "ann")
    assert parsed("sessions", "list") == []
    assert isinstance(cli("sessions", "show", "ann").exception, UnknownSession)


def test_a_skill_is_listed_shown_compared_carried_and_deleted(home: Path) -> None:
    for body in ("n * 2", "n + n"):
        ok("run", "-", "--session", "ann", text=SAVE.replace("n * 2", body))
    row = parsed("skills", "list")[0]
    assert (row["name"], row["version"], row["level"], row["tested"]) == ("double", 2, "user", True)
    assert "Double a number." in ok("skills", "list")
    assert "return n + n" in ok("skills", "show", "double")
    assert parsed("skills", "show", "double", "--version", "1")["source"].endswith("return n * 2\n")
    assert "-    return n * 2" in ok("skills", "diff", "double", "1")
    assert ok("skills", "export", "double", "carried").strip() == "carried/double"
    ok("skills", "delete", "double")
    assert isinstance(cli("skills", "show", "double").exception, UnknownSkill)
    assert ok("skills", "import", "carried/double").strip() == "skills.double version 1"
    assert ok("run", "-", text="from skills import double\nprint(double(21))").startswith("42")
    (home / "carried/double/skill.py").write_text("changed")
    assert isinstance(cli("skills", "import", "carried/double").exception, Refused)


def test_a_hostile_file_name_cannot_steer_the_terminal(home: Path) -> None:
    ok("run", "-", "--session", "ann", text="open('\\x1b[2J\\u202e[red]x', 'w').close()")
    listed = ok("sessions", "files", "ann")
    assert ("\x1b" in listed, "\u202e" in listed, "\\x1b[2J\\xe2\\x80\\xae[red]x" in listed) == (False, False, True)


def test_skills_are_found_by_the_same_search_as_tools(home: Path) -> None:
    ok("run", "-", text=SAVE.replace('kv["k"] = 1', "").replace("from session import kv", ""))
    assert parsed("search", "double a number")["hits"][0]["key"] == "skills.double"


@pytest.mark.requirement("T93")
def test_files_and_skills_are_shown_masked_unless_real_values_are_asked_for(home: Path) -> None:
    code = "def remind() -> str:\n    'Reminds.'\n    return 'ann@example.com'\nopen('m.txt', 'w').write(remind())\n"
    code += "from skills import save\nsave(remind, level='user')"
    ok("run", "-", "--session", "ann", text=code)
    assert ok("sessions", "get", "ann", "m.txt").startswith("<EMAIL_")
    assert ok("sessions", "get", "ann", "m.txt", "--real") == "ann@example.com"
    assert "<EMAIL_" in ok("skills", "show", "remind")
    assert "ann@example.com" in ok("skills", "show", "remind", "--real")
