"""The shell: by a pipe, and by a person at a terminal."""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.at_terminal import Terminal
from tests.e2e.test_cli import gristmill

CONFIG = """
[servers.sums]
python = "statistics"
include = ["mean", "median"]

[policy]
ask = ["sums.median"]
allow = ["sums.mean"]
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    (tmp_path / "gristmill.toml").write_text(f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n{CONFIG}")
    return tmp_path


def test_a_pipe_keeps_names_from_program_to_program(here: Path) -> None:
    program = "x = 20\nfor n in range(2):\n    print(n)\n:help\nx + 22\n:quit\nprint('never')"
    done = gristmill("shell", stdin=program, cwd=here)
    assert (done.returncode, done.stdout.startswith("0\n1\n"), done.stdout.endswith("42\n")) == (0, True, True)


def test_a_pipe_ends_at_the_first_failure(here: Path) -> None:
    done = gristmill("shell", stdin="print('a')\n:help\n1 / 0\n:help\nprint('never')", cwd=here)
    assert (done.returncode, "ZeroDivisionError" in done.stderr, "never" in done.stdout) == (1, True, False)


def test_outcomes_can_be_had_as_json(here: Path) -> None:
    done = gristmill("shell", "--json", stdin="print(1)\n:help_me\n", cwd=here)
    assert done.returncode == 2
    assert json.loads(done.stdout.splitlines()[0])["output"] == "1\n"


def test_servers_and_tools_can_be_asked_about(here: Path) -> None:
    done = gristmill("shell", stdin=":servers\n:tools sums\n:search arithmetic mean\n:tools\n", cwd=here)
    assert done.returncode == 0
    for words in ("python", "mean\nmedian\n", "from servers.sums import", "servers.sums"):
        assert words in done.stdout


@pytest.fixture
def terminal(here: Path) -> Generator[Terminal]:
    terminal = Terminal(here, "shell")
    terminal.wait_for(">>> ")
    yield terminal
    terminal.close()


def test_statements_may_have_several_lines_and_tab_completes_own_names(terminal: Terminal) -> None:
    terminal.type("def double(number):\n", r"\.\.\. ")
    terminal.type("    return 2 * number\n", r"\.\.\. ")
    terminal.type("\n")
    assert "42" in terminal.type("dou\t(21)\n")


def test_tab_completes_servers_and_their_tools(terminal: Terminal) -> None:
    terminal.type("from servers import su\t\n")
    assert "20" in terminal.type("sums.mea\t([10, 30])\n").partition("\r\n")[2]


def test_ctrl_c_stops_the_code_and_neither_the_shell_nor_the_session(terminal: Terminal) -> None:
    terminal.type("kept = 41\n")
    terminal.type("import time; print('started'); time.sleep(600)\n", "started\r")
    assert "interrupted" in terminal.type("\x03")
    assert "42" in terminal.type("kept + 1\n")


@pytest.mark.parametrize(("answer", "words"), [("y", "2"), ("n", "the approver said no")])
def test_a_call_that_asks_is_shown_and_waits_for_the_person(terminal: Terminal, answer: str, words: str) -> None:
    terminal.type("from servers import sums\n")
    asked = terminal.type("sums.median([1, 2, 3])\n", r"approve\?.*: ")
    assert "sums.median\r\n    1  " in asked
    assert words in terminal.type(f"{answer}\n")


def test_what_was_typed_is_remembered_for_its_owner_alone(here: Path) -> None:
    terminal = Terminal(here, "shell")
    terminal.wait_for(">>> ")
    terminal.type("remembered = 1\n")
    os.write(terminal.fd, b"\x04")
    terminal.wait_for(r"\n")
    assert os.waitpid(terminal.pid, 0)[1] == 0
    os.close(terminal.fd)
    history = here / "state" / "shell_history"
    assert ("remembered = 1" in history.read_text(), history.stat().st_mode & 0o777) == (True, 0o600)
