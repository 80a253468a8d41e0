"""A plan waits, is looked at, decided and applied, all by the command line."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import gristmill

NOTES = '''
from pathlib import Path

def write(path: str, content: str) -> str:
    """Write a file."""
    with open(path, "a") as file:
        file.write(content + "\\n")
    return "written"
'''
PROGRAM = """
from servers import notes
from mcp_client import ToolError
for n in (1, 2, 3):
    try:
        notes.write(path="PATH", content=f"note {n} for ann@example.org")
    except ToolError:
        print("not", n)
"done"
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)  # code runs as another user when we are root
    (tmp_path / "notes_server.py").write_text(NOTES)
    (tmp_path / "program.py").write_text(PROGRAM.replace("PATH", str(tmp_path / "notes.txt")))
    (tmp_path / "gristmill.toml").write_text(
        f'[store]\npath = {json.dumps(str(tmp_path / "state"))}\n[servers.notes]\npython = "notes_server"\n'
    )
    return tmp_path


def command(here: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH", "")]))
    return gristmill(*arguments, cwd=here, env={"PYTHONPATH": path})


def notes(here: Path) -> list[str]:
    file = here / "notes.txt"
    return [line.split()[1] for line in file.read_text().splitlines()] if file.exists() else []


def waiting(here: Path) -> tuple[str, str]:
    """The ids of the execution and of its approval, after a run that had to wait."""
    done = command(here, "run", "program.py")
    assert (done.returncode, notes(here)) == (7, []), done.stderr
    (one,) = json.loads(command(here, "approvals", "--json").stdout)
    assert f"gristmill approvals approve {one['id']}" in done.stderr
    assert f"gristmill run --resume {one['execution']}" in done.stderr
    return one["execution"], one["id"]


def test_a_plan_is_shown_approved_in_part_and_applied_once(here: Path) -> None:
    execution, approval = waiting(here)
    assert approval in command(here, "approvals").stdout
    shown = command(here, "approvals", "show", approval).stdout
    assert "notes.write (3 calls)" in shown
    assert "note 1 for" in shown
    assert "ann@example.org" not in shown
    decided = command(here, "approvals", "approve", approval, "--only", "1,3", "--by", "boss")
    assert (decided.stdout, decided.returncode) == ("approved: 2 of 3 calls\n", 0)
    done = command(here, "run", "--resume", execution)
    assert (done.returncode, done.stdout, notes(here)) == (0, "not 2\ndone\n", ["1", "3"]), done.stderr
    assert command(here, "run", "--resume", execution).returncode == 0
    assert notes(here) == ["1", "3"], "nothing is done twice"
    assert command(here, "approvals", "approve", approval).returncode == 2, "a plan is decided once"
    records: list[Any] = json.loads(command(here, "audit", "list", "--kind", "approval", "--json").stdout)
    assert [(one["status"], one["details"]["by"]) for one in records] == [("approved", "boss")]
    assert command(here, "audit", "verify").returncode == 0


@pytest.mark.requirement("T95")
def test_a_call_that_is_shown_cut_is_not_approved_with_all_the_others(here: Path) -> None:
    program = here / "program.py"
    program.write_text(program.read_text().replace('f"note {n} for', '"x" * 400 * (n == 2) + f"note {n} for'))
    execution, approval = waiting(here)
    assert ("note 2" in command(here, "approvals", "show", approval).stdout) is False
    assert "note 2" in command(here, "approvals", "show", approval, "--whole").stdout
    refused = command(here, "approvals", "approve", approval)
    assert (refused.returncode, "--only 1,2,3" in refused.stderr) == (2, True), refused.stderr
    assert command(here, "approvals", "approve", approval, "--only", "1,2,3", "--by", "boss").returncode == 0
    assert command(here, "run", "--resume", execution).returncode == 0
    assert len(notes(here)) == 3


def test_a_denied_plan_does_nothing(here: Path) -> None:
    execution, approval = waiting(here)
    assert command(here, "approvals", "deny", approval).stdout == "denied: 0 of 3 calls\n"
    done = command(here, "run", "--resume", execution)
    assert (done.returncode, notes(here)) == (0, [])
    assert command(here, "approvals").stdout == ""
    assert "denied" in command(here, "approvals", "list", "--all").stdout


@pytest.mark.parametrize(("answer", "written"), [("all", ["1", "2", "3"]), ("none", [])])
def test_a_script_answers_with_an_option(here: Path, answer: str, written: list[str]) -> None:
    assert command(here, "run", "program.py", "--approve", answer).returncode == 0
    assert notes(here) == written


def test_whoever_sits_at_the_terminal_is_asked(here: Path) -> None:
    leader, follower = pty.openpty()
    path = os.pathsep.join(filter(None, [str(here), os.environ.get("PYTHONPATH", "")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "gristmill", "run", "program.py"],
        stdin=follower, stdout=follower, stderr=follower, cwd=here, env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while b"or numbers such as" not in seen:
        seen += os.read(leader, 4096)
    assert b"notes.write (3 calls)" in seen
    os.write(leader, b"maybe\n2-3\n")
    assert process.wait(60) == 0
    os.close(leader)
    assert notes(here) == ["2", "3"]


def test_a_run_names_a_program_or_something_to_resume(here: Path) -> None:
    assert command(here, "run").returncode == 2
    assert command(here, "run", "--resume", "nothing").returncode == 2
    assert command(here, "approvals", "approve", "x", "--only", "many").returncode == 2


def test_a_tool_is_always_allowed_from_the_command_line_until_the_rule_is_revoked(here: Path) -> None:
    asked = command(here, "run", "program.py", "--json")
    assert asked.returncode == 7, asked.stderr
    plan = json.loads(asked.stdout)["plan"]["id"]
    approved = command(here, "approvals", "approve", plan[:10], "--always", "caller")
    assert approved.returncode == 0, approved.stderr
    assert "always allow notes.write for local in every session" in approved.stderr
    assert command(here, "run", "program.py").returncode == 0
    (rule,) = json.loads(command(here, "approvals", "rules", "--json").stdout)
    assert rule["tool"] == "notes.write"
    assert rule["id"] in command(here, "approvals", "rules").stdout
    assert command(here, "approvals", "revoke", rule["id"]).returncode == 0
    assert command(here, "run", "program.py", "--json").returncode == 7
    assert command(here, "approvals", "revoke", rule["id"]).returncode != 0


def test_what_a_failed_run_wrote_is_undone_from_the_command_line(here: Path) -> None:
    settings = here / "gristmill.toml"
    undo = 'notes.write(path=arguments.path, content="note undone")'
    settings.write_text(settings.read_text() + f"[policy.revert]\n'notes.write' = '{undo}'\n")
    program = here / "program.py"
    program.write_text(program.read_text().replace("for n in (1, 2, 3)", "for n in (1,)").replace('"done"', "1 / 0"))
    failed = command(here, "run", "program.py", "--approve", "all", "--json")
    outcome = json.loads(failed.stdout)
    assert [(write["tool"], write["made"]) for write in outcome["writes"]] == [("notes.write", 1)], failed.stderr
    waiting = command(here, "revert", outcome["id"][:8])
    assert (waiting.returncode, notes(here)) == (7, ["1"]), waiting.stderr
    assert "gristmill approvals approve" in waiting.stderr
    done = command(here, "revert", outcome["id"], "--approve", "all")
    assert (done.returncode, notes(here)) == (0, ["1", "undone"]), done.stderr
    assert command(here, "revert", "no-such-execution").returncode != 0
