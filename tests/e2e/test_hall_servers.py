"""One program over published servers: joined data, fifty approved writes that survive a kill, masks that become values again."""

import json
import logging
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from gristmill import BlockingRuntime
from gristmill.events import Event
from gristmill.model import Outcome, Plan
from tests.servers import NODE, node_command, python_command

PEOPLE = [(n, f"person{n}@mail-of-{n}.example.org", ("core", "docs", "web")[n % 3]) for n in range(1, 7)]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # code runs as another user when we are root
    return tmp_path


def configuration(here: Path, *names: str, **sections: Any) -> Path:
    """A configuration file with these servers; their things lie in ``here``."""
    node, script = node_command(next(package for package in NODE if "filesystem" in package))
    known = {
        "sqlite": {"command": python_command("mcp-server-sqlite"), "args": ["--db-path", str(here / "team.db")]},
        "git": {"command": python_command("mcp-server-git"), "args": ["--repository", str(here / "repo")]},
        "files": {"command": node, "args": [script, str(here / "files")]},
    }
    whole = {"store": {"path": str(here / "state")}, "servers": {name: known[name] for name in names}, **sections}
    path = here / "gristmill.toml"
    path.write_text(_toml(whole))
    return path


def _toml(tree: dict[str, Any], above: str = "") -> str:
    tables: dict[str, dict[str, Any]] = {key: value for key, value in tree.items() if isinstance(value, dict)}
    plain = [f"{key} = {json.dumps(value)}" for key, value in tree.items() if key not in tables]
    below = [_toml(value, f"{above}.{key}".strip(".")) for key, value in tables.items()]
    return "\n".join([*([f"[{above}]"] if above else []), *plain, *below])


@contextmanager
def opened(config: Path) -> Generator[BlockingRuntime]:
    with BlockingRuntime(config) as runtime:
        runtime.settled(60)
        yield runtime


def _database(here: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(here / "team.db", check_same_thread=False)
    connection.execute("CREATE TABLE people (id INTEGER, email TEXT, area TEXT)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE)
    connection.execute("CREATE TABLE log (n INTEGER)")
    connection.commit()
    return connection


@pytest.mark.requirement("P10")
def test_one_program_joins_what_two_servers_know(here: Path) -> None:
    _database(here)
    repo = here / "repo"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    for area in ("core", "docs", "core"):
        identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(repo), *identity, "commit", "-q", "--allow-empty", "-m", f"{area}: change"], check=True)
    config = configuration(here, "sqlite", "git", policy={"allow": ["sqlite.read_query", "git.git_log"]})
    code = f"""
import ast, re
from servers import git, sqlite
log = str(git.git_log(repo_path={str(repo)!r}))
rows = sqlite.read_query(query="SELECT area, count(*) AS people FROM people GROUP BY area")
rows = rows if isinstance(rows, list) else ast.literal_eval(rows)
{{row["area"]: [len(re.findall(row["area"] + ": change", log)), row["people"]] for row in rows}}
"""
    with opened(config) as runtime:
        outcome = runtime.execute(code)
    assert outcome.result == {"core": [2, 2], "docs": [1, 2], "web": [0, 2]}, outcome
    assert set(outcome.tools_called) == {"sqlite.read_query", "git.git_log"}


FIFTY = """
from servers import sqlite
from mcp_client import ToolError
for n in range(50):
    try:
        sqlite.write_query(query=f"INSERT INTO log VALUES ({n})")
    except ToolError as error:
        if "the approver said no" not in str(error):
            raise
"done"
"""
EDITED = FIFTY.replace('"done"', 'sqlite.write_query(query="INSERT INTO log VALUES (50)")\n"done"')


@pytest.mark.requirement("P6")
@pytest.mark.parametrize(("code", "total"), [(FIFTY, 50), (EDITED, 51)], ids=["as it was", "edited"])
def test_fifty_writes_of_one_decision_are_done_once_each_though_the_gateway_is_killed(here: Path, code: str, total: int) -> None:
    log = _database(here)
    config = configuration(here, "sqlite")
    killed_after(25, config, "first")
    before = _rows(log)
    assert 24 <= len(before) <= 26
    asked: list[Plan] = []

    def by_the_books(plan: Plan) -> Any:
        asked.append(plan)
        done = _rows(log)
        return [call.number for call in plan.calls if not (call.was_lost and _number(call.arguments) in done)]

    with opened(config) as runtime:
        outcome = runtime.execute(None if code == FIFTY else code, resume="first", approve=by_the_books)
    assert (outcome.status, outcome.result) == ("ok", "done"), outcome
    assert _rows(log) == list(range(total))
    assert outcome.replay is not None
    assert outcome.replay.answered >= 24
    questions = [call for plan in asked for call in plan.calls if call.needs_approval]
    assert all(call.was_lost or _number(call.arguments) == 50 for call in questions), "what was approved is not asked again"


def killed_after(calls: int, config: Path, name: str) -> None:
    """Run the program with the whole plan approved, and kill the gateway when so many calls of it have been answered."""
    command = [sys.executable, "-m", "tests.e2e.gateway", str(config), name]
    gateway = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert gateway.stdin is not None
    assert gateway.stdout is not None
    gateway.stdin.write(FIFTY)
    gateway.stdin.close()
    rehearsed = [gateway.stdout.readline() for _ in range(51)]
    assert rehearsed[-1] == "asked 50\n", rehearsed
    answered = [gateway.stdout.readline() for _ in range(calls)]
    gateway.kill()
    gateway.wait(30)
    gateway.stdout.close()
    assert answered == ["called sqlite.write_query\n"] * calls


def _rows(log: sqlite3.Connection) -> list[int]:
    return [n for (n,) in log.execute("SELECT n FROM log ORDER BY n")]


def _number(arguments: Any) -> int:
    return int(arguments["query"].partition("(")[2].rstrip(")"))


WRITE_EMAILS = """
import ast
from servers import files, sqlite
rows = sqlite.read_query(query="SELECT id, email FROM people ORDER BY id")
rows = rows if isinstance(rows, list) else ast.literal_eval(rows)
text = "\\n".join(row["email"] for row in rows)
print("to write:", text)
files.write_file(path={path!r}, content=text)
print(rows)
[row["email"] for row in rows]
"""


@pytest.mark.requirement("T30")
@pytest.mark.parametrize("mode", ["full", "output"])
def test_addresses_reach_the_file_and_nobody_else(
    here: Path, mode: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    _database(here)
    (here / "files").mkdir()
    target = here / "files" / "list.txt"
    config = configuration(here, "sqlite", "files", policy={"allow": ["sqlite.read_query"]}, mask={"mode": mode})
    seen: list[Any] = []

    def approve(plan: Plan) -> Any:
        seen.append(asdict(plan))
        return "all"

    def hear(event: Event) -> None:
        seen.append(to_builtins(event))

    with opened(config) as runtime:
        code = WRITE_EMAILS.format(path=str(target))
        outcome: Outcome = runtime.execute(code, approve=approve, emit=hear)
        failed = runtime.execute(code + "\nraise ValueError(rows[0]['email'])", approve=approve, emit=hear)
        refused = runtime.execute(code, approve=lambda _: "none", emit=hear)
    assert outcome.status == "ok", outcome
    assert target.read_text().splitlines() == [email for _, email, _ in PEOPLE], "the server got the real values"
    assert [len(set(outcome.result)), failed.status, refused.status] == [6, "failed", "failed"]
    captured = capfd.readouterr()
    seen += [asdict(outcome), asdict(failed), asdict(refused), caplog.text, captured.out, captured.err]
    kept = {str(path): path.read_bytes() for path in (here / "state").rglob("*") if path.is_file()}
    assert any(name.endswith(".db") for name in kept), "there is a store to look at"
    for _, email, _ in PEOPLE:
        assert email not in json.dumps(seen, default=str)
        assert [name for name, content in kept.items() if _holds(content, email)] == []


def _holds(content: bytes, text: str) -> bool:
    return any(text.encode(encoding) in content for encoding in ("utf-8", "utf-16-le", "utf-16-be"))


def test_the_plan_shows_what_would_change_in_a_file(here: Path) -> None:
    (here / "files").mkdir()
    target = here / "files" / "list.txt"
    target.write_text("one\ntwo\nann@example.org\n")
    config = configuration(here, "files", mask={"mode": "full"})
    code = f"from servers import files\nfiles.write_file(path={str(target)!r}, content='one\\n2\\nann@example.org\\n')"
    with opened(config) as runtime:
        outcome = runtime.execute(code)
    assert outcome.plan is not None
    diff = outcome.plan.calls[0].diff
    assert diff is not None
    assert "-two\n+2\n" in diff
    assert "ann@example.org" not in diff
    assert target.read_text().startswith("one\ntwo\n")
