"""Every table of the command line, at 80 and 140 columns and in a pipe."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gristmill import Runtime
from gristmill.serve.cli.app import app
from gristmill.serve.cli.terminal import print_tables

CONFIG = """\
[store]
path = {path}
[sandbox]
warm = 1
[servers.figures]
python = "statistics"
include = ["mean", "median", "quantiles"]
[servers.a-server-with-a-rather-long-name]
command = "no-such-program-anywhere"
[policy]
default = "ask"
allow = ["figures.mean"]
"""
SKILL = '''
import skills
def average_of_many_numbers(values):
    """Computes the average of many numbers, as often as it is asked to, and says so in a long sentence."""
    from servers.figures import mean
    return mean(values)
skills.save(average_of_many_numbers, level="user")
open("a-report-with-a-rather-long-name-of-its-own.csv", "w").write("1,2")
'''
TABLES = [
    (("sessions", "list"), "session caller last used (UTC) expires (UTC) bytes"),
    (("sessions", "files", "monthly-figures-of-the-whole-company"), "path kind bytes changed (UTC) type"),
    (("skills", "list"), "skill version level tested requires what it does"),
    (("approvals", "list", "--all"), "id standing expires (UTC) session caller execution calls"),
    (("audit", "list"), "seq time (UTC) kind id caller session tool decision status ms"),
    (("tokens", "list"), "id name tenant scopes created (UTC) state"),
    (("tools",), "server kind state tools tokens notes last error"),
    (("tools", "figures"), "tool what it does notes"),
    (("stats",), "way requests input tokens counted once code saves cost with caching"),
    (("secrets", "list"), None),
    (("doctor", "--no-servers"), "self-check seen"),
]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration whose store has something for every table."""
    folder = tmp_path_factory.mktemp("tables")
    for parent in (folder, folder.parent):
        parent.chmod(0o755)
    file = folder / "gristmill.toml"
    file.write_text(CONFIG.format(path=json.dumps(str(folder / "state"))))

    async def fill() -> None:
        async with Runtime.open(file, serving=True) as runtime:
            session = "monthly-figures-of-the-whole-company"
            await runtime.execute(SKILL, session=session, caller="local")
            call = await runtime.execute("from servers.figures import mean\nmean([1, 2])", session=session)
            asked = await runtime.execute("from servers.figures import median\nmedian([1, 2])", session=session)
            assert (call.status, asked.status) == ("ok", "awaiting_approval")

    asyncio.run(fill())
    assert CliRunner().invoke(app, ["tokens", "create", "a-service-of-the-team", "-c", str(file)]).exit_code == 0
    return file


def run(config: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...], width: int | None) -> str:
    monkeypatch.setattr(print_tables, "find_width", lambda: width)
    done = CliRunner().invoke(app, [*verb, "-c", str(config)], env={"COLUMNS": str(width or 80)})
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(("verb", "titles"), TABLES, ids=["-".join(verb) for verb, _ in TABLES])
@pytest.mark.parametrize("width", [80, 140, None])
def test_every_table_fits_or_is_whole(
    config: Path, monkeypatch: pytest.MonkeyPatch, verb: tuple[str, ...], titles: str | None, width: int | None
) -> None:
    printed = run(config, monkeypatch, verb, width)
    if titles is None:
        return
    places = [n for n, line in enumerate(printed.splitlines()) if line.split()[:1] == titles.split()[:1] or "self-check" in line]
    lines = printed.splitlines()[places[0] :]
    if width is None:
        assert re.sub(r"\s+", " ", lines[0]).strip() == titles
        assert "…" not in printed
    elif verb[0] != "doctor":  # its other lines are sentences, which a terminal wraps
        assert max(map(len, lines[: 3 if verb == ("stats",) else None])) <= width


def test_ids_are_whole_in_a_pipe_and_the_caller_is_there(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = json.loads(run(config, monkeypatch, ("audit", "list", "--json"), None))
    table = run(config, monkeypatch, ("audit", "list"), None)
    assert len(table.splitlines()) == len(records) + 1
    assert all(record["id"] in table for record in records)
    assert " local " in run(config, monkeypatch, ("audit", "list"), 140)
    (asked,) = json.loads(run(config, monkeypatch, ("approvals", "list", "--json"), None))
    assert asked["id"] in run(config, monkeypatch, ("approvals", "list"), None)
    assert asked["execution"] in run(config, monkeypatch, ("approvals", "list"), None)


def test_servers_have_a_total(config: Path) -> None:
    done = CliRunner().invoke(app, ["tools", "-c", str(config)])
    assert re.search(r"^2 servers, 1 ready: 3 tools, \d+ tokens of definitions$", done.stderr, re.MULTILINE)


def test_the_log_of_a_server_is_shown_and_listed(tmp_path: Path) -> None:
    (tmp_path / "noisy.py").write_text("import sys\nsys.stderr.write('one\\nno key \\x1b[31ms3cr3t-value\\n')\n")
    file = tmp_path / "gristmill.toml"
    file.write_text(
        f"[store]\npath = {json.dumps(str(tmp_path / 'state'))}\n[servers.noisy]\ncommand = {json.dumps(sys.executable)}\n"
        f"args = [{json.dumps(str(tmp_path / 'noisy.py'))}]\nenv = {{ KEY = '${{env:NOISY_KEY}}' }}\n"
    )
    runner = CliRunner(env={"NOISY_KEY": "s3cr3t-value"})
    assert "noisy" in runner.invoke(app, ["tools", "-c", str(file)]).stdout
    shown = runner.invoke(app, ["logs", "noisy", "-n", "2", "-c", str(file)]).stdout
    assert [line[20:] for line in shown.splitlines()] == ["one", "no key \\x1b[31m***"]
    assert runner.invoke(app, ["logs", "-c", str(file)]).stdout.splitlines()[1].split()[0] == "noisy"
    wrong = runner.invoke(app, ["logs", "nosy", "-c", str(file)])
    assert "there is no server 'nosy', and no log of one" in str(wrong.exception)
