"""Asking about tools by the command line."""

import json
import sys
from pathlib import Path

import pytest

from tests.e2e.test_cli import gristmill
from tests.servers.warm import warm


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    command, *args = warm("modern.py")
    (folder / "gristmill.toml").write_text(f"""
[servers.sums]
python = "statistics"
include = ["mean", "median"]

[servers.modern]
command = {json.dumps(command)}
args = {json.dumps(args)}

[servers.broken]
command = "no-such-program"

[store]
path = {json.dumps(str(folder / "state"))}
""")
    return folder


def test_tools_shows_every_server_and_how_it_is(here: Path) -> None:
    done = gristmill("tools", cwd=here)
    rows = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert (done.returncode, list(rows)) == (0, ["server", "sums", "modern", "broken"])
    assert rows["sums"].split()[1:4] == ["python", "ready", "2"]
    assert rows["modern"].split()[1:4] == ["stdio", "ready", "3"]
    assert "failed" in rows["broken"]
    assert "no-such-program" in rows["broken"]


def test_tools_as_json_has_every_field(here: Path) -> None:
    rows = json.loads(gristmill("tools", "--json", cwd=here).stdout)
    assert set(rows[0]) == {"name", "kind", "state", "tools", "tokens", "era", "error", "changed", "flagged", "confined"}
    assert rows[0]["tokens"] > 50


def test_tools_of_one_server(here: Path) -> None:
    assert "sums.median" in gristmill("tools", "sums", cwd=here).stdout
    listed = json.loads(gristmill("tools", "modern", "--json", cwd=here).stdout)
    assert [tool["key"] for tool in listed] == ["modern.greet", "modern.look", "modern.think"]


def test_search_shows_what_to_write(here: Path) -> None:
    done = gristmill("search", "arithmetic mean", "--limit", "1", cwd=here)
    assert done.returncode == 0
    assert done.stdout.startswith("from servers.sums import mean\n")
    found = json.loads(gristmill("search", "arithmetic mean", "--server", "sums", "--json", cwd=here).stdout)
    assert (found["query"], found["hits"][0]["key"]) == ("arithmetic mean", "sums.mean")


def test_describe_writes_python_and_typescript(here: Path) -> None:
    assert "def mean(data: Any) -> Any:" in gristmill("describe", "sums.mean", cwd=here).stdout
    done = gristmill("describe", "sums.mean", "sums.median", "--language", "typescript", cwd=here)
    assert done.stdout.count("export function") == 2
    assert json.loads(gristmill("describe", "sums.mean", "--json", cwd=here).stdout)["tools"][0]["key"] == "sums.mean"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tools", "modrn"), "did you mean modern?"),
        (("search", "x", "--server", "summs"), "did you mean sums?"),
        (("describe", "sums.men"), "did you mean sums.mean"),
    ],
)
def test_unknown_names_are_answered_with_near_ones(here: Path, arguments: tuple[str, ...], words: str) -> None:
    done = gristmill(*arguments, cwd=here)
    assert (done.returncode, done.stdout, words in done.stderr, "Traceback" in done.stderr) == (2, "", True, False)


def test_without_servers_it_says_how_to_add_one(tmp_path: Path) -> None:
    done = gristmill("search", "x", cwd=tmp_path, env={"GRISTMILL_STORE__PATH": str(tmp_path)})
    assert done.returncode == 0
    assert "[servers.time]" in done.stderr


def test_brackets_in_names_and_messages_are_printed_as_they_are(tmp_path: Path) -> None:
    settings = {"GRISTMILL_STORE__PATH": str(tmp_path / "state")}
    (tmp_path / "gristmill.toml").write_text('[servers.sums]\npython = "statistics"\ninclude = ["mean"]\n')
    for arguments in (("describe", "sums.x[/y]"), ("run", "[/red]x.py"), ("tools", "[/no]"), ("sessions", "show", "[/x]")):
        done = gristmill(*arguments, cwd=tmp_path, env=settings)
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("error ")
        assert arguments[-1] in done.stderr
        assert done.returncode not in (0, 1)


def test_tools_and_doctor_show_the_last_lines_of_a_server_that_failed(tmp_path: Path) -> None:
    program = "import sys; sys.exit('starting\\nError: no token\\nNode.js v20.20.2')"
    (tmp_path / "gristmill.toml").write_text(
        f"""[servers.bad]\ncommand = {json.dumps(sys.executable)}\nargs = ["-c", {json.dumps(program)}]\nera = "legacy"\n"""
    )
    settings = {"GRISTMILL_STORE__PATH": str(tmp_path / "state")}
    listed = gristmill("tools", "bad", cwd=tmp_path, env=settings)
    assert "it said: Error: no token\n" in listed.stderr
    checked = gristmill("doctor", "--servers", cwd=tmp_path, env=settings)
    for shown in (listed.stderr, checked.stdout):
        assert [line.strip() for line in shown.splitlines() if "| " in line] == [
            "| starting",
            "| Error: no token",
            "| Node.js v20.20.2",
        ]
    assert (
        json.loads(gristmill("doctor", "--servers", "--json", cwd=tmp_path, env=settings).stdout)["servers"][0]["output"][0]
        == "starting"
    )
