"""From the servers of other clients to a client that uses Gristmill, and back, by the command line."""

import asyncio
import json
import os
import pty
import sys
import tomllib
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.e2e.test_cli import gristmill
from tests.servers.warm import warm


class Desk:
    """A person's home and the folder they work in."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, self.state = folder / "home", folder / "work", folder / "state"
        for each in (self.home / ".cursor", self.work):
            each.mkdir(parents=True)
        self.env = {
            "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config"), "GRISTMILL_STORE__PATH": str(self.state),
        }  # fmt: skip

    def run(self, *arguments: str, stdin: str = "") -> CompletedProcess[str]:
        return gristmill(*arguments, cwd=self.work, env=self.env, stdin=stdin)

    def json(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    command, *arguments = warm("modern.py")
    modern = {"command": command, "args": arguments, "env": {"MODERN_TOKEN": "s3cr3t-in-plain-text"}}
    (desk.home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"modern": modern}}))
    evil = {"command": sys.executable, "args": ["-c", f"open({str(tmp_path / 'pwned')!r}, 'w')"]}
    (desk.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"evil": evil}}))
    return desk


def test_init_takes_the_users_servers_and_leaves_secrets_and_strangers_behind(desk: Desk, tmp_path: Path) -> None:
    (desk.work / "gristmill.toml").write_text("# mine\n[sandbox]\nwarm = 1  # few\n")
    done = desk.run("init", "--yes")
    assert done.returncode == 0
    text = (desk.work / "gristmill.toml").read_text()
    assert text.startswith("# mine\n[sandbox]\nwarm = 1  # few\n")
    assert tomllib.loads(text)["servers"] == {
        "modern": {
            "command": sys.executable, "args": [*warm("modern.py")[1:]], "env": {"MODERN_TOKEN": "${env:MODERN_TOKEN}"},
        }
    }  # fmt: skip
    assert "export MODERN_TOKEN=..." in done.stderr
    assert "s3cr3t-in-plain-text" not in text + done.stdout + done.stderr
    assert desk.json("init", "--yes")["written"] is False


def test_init_measures_what_definitions_cost_and_starts_nothing_of_a_strangers_folder(desk: Desk, tmp_path: Path) -> None:
    found = desk.json("init", "--measure", "--dry-run")
    rows = {row["name"]: row for row in found["servers"]}
    assert (rows["modern"]["tools"], rows["modern"]["tokens"] > 50, rows["evil"]["tools"]) == (3, True, None)
    assert not (tmp_path / "pwned").exists()
    assert (found["added"], found["written"], (desk.work / "gristmill.toml").exists()) == (["modern"], False, False)


def test_init_asks_nobody_when_nobody_is_there(desk: Desk) -> None:
    done = desk.run("init")
    assert (done.returncode, "--yes" in done.stderr, (desk.work / "gristmill.toml").exists()) == (2, True, False)
    near = desk.run("init", "--server", "modrn")
    assert (near.returncode, "did you mean modern?" in near.stderr) == (2, True)


def test_a_person_picks_and_confirms(desk: Desk) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(desk.work)
        environ = {**os.environ, **desk.env, "NO_COLOR": "1", "TERM": "dumb"}
        os.execve(sys.executable, [sys.executable, "-m", "gristmill", "init"], environ)
    os.write(terminal, b"9\n1,2\ny\nfull\ny\ny\n")
    said = b""
    while True:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    assert os.waitpid(pid, 0)[1] == 0
    assert b"type numbers from 1 to 2" in said
    written = tomllib.loads((desk.work / "gristmill.toml").read_text())
    assert sorted(written["servers"]) == ["evil", "modern"]
    assert (written["sandbox"], written["mask"]) == (
        {"packages": ["pandas", "numpy", "matplotlib", "openpyxl"]}, {"mode": "full"},
    )  # fmt: skip
    assert desk.json("secrets", "list") == [
        {"reference": "${keyring:gristmill/modern.env.MODERN_TOKEN}", "used_by": "modern", "is_set": True}
    ]


def test_a_secret_that_init_stores_reaches_its_server_and_is_in_no_file_in_plain_text(desk: Desk) -> None:
    done = desk.run("init", "--yes", "--keyring", "--packages", "data", "--packages", "rich", "--mask", "off", "--allow-reads")
    assert (done.returncode, "is stored as gristmill/modern.env.MODERN_TOKEN" in done.stderr) == (0, True), done.stderr
    written = tomllib.loads((desk.work / "gristmill.toml").read_text())
    assert (written["sandbox"]["packages"][-2:], written["mask"]) == (["openpyxl", "rich"], {"mode": "off"})
    assert "ok      server modern: 3 tools" in desk.run("doctor").stdout
    kept = [file for file in desk.state.rglob("*") if file.is_file()]
    assert [file for file in kept if b"s3cr3t-in-plain-text" in file.read_bytes()] == []
    assert {oct(file.stat().st_mode & 0o777) for file in (desk.state / "secrets").iterdir()} == {"0o600"}
    assert desk.run("init", "--packages", "--index-url=x", "--yes").returncode == 2


def test_secrets_are_set_replaced_and_deleted(desk: Desk) -> None:
    (desk.work / "gristmill.toml").write_text(
        '[servers.modern]\ncommand = "x"\nenv = {API_KEY = "${keyring:crm/key}", WHO = "${env:NOT_SET_HERE}"}\n'
    )
    missing = desk.run("doctor", "--no-servers")
    assert missing.returncode == 0
    assert [one["is_set"] for one in desk.json("secrets", "list")] == [False, False]
    assert "run `gristmill secrets set crm/key`" in desk.run("doctor").stdout
    assert "${keyring:crm/key}" in desk.run("secrets", "set", "crm/key", stdin="first-value\n").stdout
    assert desk.run("secrets", "set", "crm/key", stdin="second-value\n").returncode == 0
    assert [one["is_set"] for one in desk.json("secrets", "list")] == [True, False]
    assert desk.run("secrets", "delete", "crm/key").returncode == 0
    assert desk.run("secrets", "delete", "crm/key").returncode == 2
    assert desk.run("secrets", "set", "crm/key", stdin="").returncode == 2
    assert desk.run("secrets", "set", "a{b", stdin="x").returncode == 2


def test_a_client_gets_gristmill_and_loses_it_again(desk: Desk) -> None:
    file = desk.home / ".cursor" / "mcp.json"
    before = file.read_bytes()
    desk.run("init", "--yes")
    shown = desk.run("install", "cursor", "--dry-run")
    assert "+" in shown.stdout
    assert (file.read_bytes(), shown.returncode) == (before, 0)
    silent = desk.run("install", "cursor", "--replace", "--dry-run")
    assert ("s3cr3t" in silent.stdout, "modern did not answer" in silent.stderr) == (False, True)
    desk.env["MODERN_TOKEN"] = "x"
    assert "s3cr3t" not in desk.run("install", "cursor", "--replace", "--dry-run").stdout
    done = desk.json("install", "cursor", "--replace")
    assert (done["changed"], done["written"], done["replaced"], Path(done["backup"]).read_bytes()) == (
        True, True, ["modern"], before,
    )  # fmt: skip
    servers = json.loads(file.read_text())["mcpServers"]
    assert list(servers) == ["gristmill"]
    assert servers["gristmill"]["args"][-3:] == ["serve", "--config", str(desk.work / "gristmill.toml")]
    assert Path(servers["gristmill"]["command"]).name in ("gristmill", "uvx")
    assert "already" in desk.run("install", "cursor").stderr
    assert desk.run("uninstall", "cursor").returncode == 0
    assert (file.read_bytes(), [each.name for each in file.parent.iterdir()]) == (before, ["mcp.json"])
    assert "nothing to do" in desk.run("uninstall", "cursor").stderr
    desk.json("install", "cursor", "--replace")
    file.write_text(json.dumps({"mcpServers": json.loads(file.read_text())["mcpServers"], "runs": 2}))
    assert desk.json("uninstall", "cursor")["restored"] == ["modern"]
    assert json.loads(file.read_text()) == {**json.loads(before), "runs": 2}


def test_what_is_installed_is_what_a_client_can_start(desk: Desk) -> None:
    desk.run("init", "--yes")
    desk.run("install", "claude-code")
    entry = json.loads((desk.home / ".claude.json").read_text())["mcpServers"]["gristmill"]
    environ = {**os.environ, **desk.env, "MODERN_TOKEN": "x"}

    async def listed() -> tuple[list[str], str]:
        async with Client(StdioServerParameters(command=entry["command"], args=entry["args"], env=environ, cwd="/")) as client:
            tools = (await client.list_tools()).tools
            found = await client.call_tool("search_tools", {"query": "greet somebody"})
            return [tool.name for tool in tools], str(found.content)

    names, found = asyncio.run(listed())
    assert names == ["search_tools", "execute_code"]
    assert "from servers.modern import" in found


def test_a_projects_file_travels(desk: Desk) -> None:
    (desk.work / "gristmill.toml").touch()
    assert desk.run("install", "claude-code", "--project", "--uvx").returncode == 0
    servers = json.loads((desk.work / ".mcp.json").read_text())["mcpServers"]
    assert servers["gristmill"] == {"type": "stdio", "command": "uvx", "args": ["gristmill", "serve"], "alwaysLoad": True}
    assert list(servers) == ["evil", "gristmill"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("install", "cusror"), "did you mean cursor"),
        (("install", "codex", "--project"), "leave out --project"),
        (("install", "cursor", "--config", "missing.toml"), "missing.toml"),
    ],
)
def test_mistakes_are_told_with_the_remedy(desk: Desk, arguments: tuple[str, ...], words: str) -> None:
    done = desk.run(*arguments)
    assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (2, True, False)


def test_tools_are_exported_for_a_provider(desk: Desk) -> None:
    desk.run("init", "--yes")
    desk.env["MODERN_TOKEN"] = "x"
    found = json.loads(desk.run("export", "--format", "openai").stdout)
    assert (found["tools"][0]["name"], found["names"]["modern.greet"]) == ("modern", "modern.greet")
    desk.run("export", "--format", "anthropic", "--server", "modern", "--to", "tools.json")
    written = json.loads((desk.work / "tools.json").read_text())
    assert written["names"] == {f"modern__{tool}": f"modern.{tool}" for tool in ("greet", "look", "think")}
    assert "did you mean modern" in desk.run("export", "--format", "openai", "--server", "modrn").stderr


def test_doctor_examines_each_server_and_says_how_to_fix_it(desk: Desk) -> None:
    desk.run("init", "--yes")
    done = desk.run("doctor", "--json")
    found = json.loads(done.stdout)
    server = found["servers"][0]
    assert (done.returncode, found["ok"], found["held"], server["ok"]) == (5, False, True, False)
    assert server["fix"].startswith("export MODERN_TOKEN=...")
    assert [(check["name"], check["ok"]) for check in found["checkup"]] == [("config", True), ("state", True), ("store", True)]
    desk.env["MODERN_TOKEN"] = "x"
    well = desk.run("doctor")
    assert (well.returncode, "server modern: 3 tools" in well.stdout) == (0, True)


def test_doctor_says_what_is_wrong_with_the_configuration(desk: Desk) -> None:
    (desk.work / "gristmill.toml").write_text("[sandbx]\nwarm = 1\n")
    done = desk.run("doctor", "--json")
    assert (done.returncode, json.loads(done.stdout)["checkup"][0]["ok"]) == (2, False)
    assert "did you mean sandbox" in desk.run("doctor").stdout
    (desk.work / "gristmill.toml").write_text("")
    desk.env["GRISTMILL_STORE__PATH"] = "/proc/none"
    broken = desk.run("doctor")
    assert (broken.returncode, "[store]" in broken.stdout) == (1, True)
