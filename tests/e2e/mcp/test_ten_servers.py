"""A whole day with ten real servers on stdio: search, join two in one program, write, approve, resume, restart, go on."""

import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

from tests.e2e.mcp.conftest import MODES, Mode, stdio, text
from tests.servers import NODE, node_command, python_command
from tests.servers.warm import warm

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]

JOIN = """
from servers.sqlite import read_query
from servers.git import git_log
rows = read_query("SELECT path FROM files ORDER BY path")
log = git_log({repository!r})
commits = str(log)
[row for row in ("a.txt", "b.txt") if row in str(rows) and f"add {{row}}" in commits]
"""
EVERY = """
from servers import all, asking, fetch, files, git, memory, shifting, sqlite, thinking, time
assert "gristmill.toml" in str(files.list_directory({folder!r}))
assert "hi" in str(all.echo(message="hi"))
assert "entities" in str(memory.read_graph())
thought = dict(thought="so", nextThoughtNeeded=False, thoughtNumber=1, totalThoughts=1)
assert "thoughtNumber" in str(thinking.sequentialthinking(**thought))
assert "branch" in str(git.git_status({repository!r}))
assert "UTC" in str(time.get_current_time(timezone="UTC"))
assert "files" in str(sqlite.list_tables())
assert str(shifting.list_customers()) == "[]"
len([all, asking.greet, fetch.fetch, files, git, memory, shifting, sqlite, thinking, time])
"""
WRITE = "from servers.files import write_file\nwrite_file(path={path!r}, content='joined')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository, a database and a folder that the servers work on, and the configuration of all ten."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == tmp_path.owner() and parent != Path("/tmp"):
            parent.chmod(0o755)
    repository = tmp_path / "repository"
    repository.mkdir()
    _git(repository, "init", "-q")
    for name in ("a.txt", "b.txt"):
        (repository / name).write_text(name)
        _git(repository, "add", name)
        _git(repository, "-c", "user.name=ann", "-c", "user.email=ann@example.com", "commit", "-qm", f"add {name}")
    with sqlite3.connect(tmp_path / "files.db") as database:
        database.execute("CREATE TABLE files (path TEXT)")
        database.executemany("INSERT INTO files VALUES (?)", [("a.txt",), ("c.txt",)])
    (tmp_path / "shifting").write_text("{}")
    (tmp_path / "gristmill.toml").write_text(_config(tmp_path))
    return tmp_path


def _git(repository: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(repository), *arguments], check=True)


def _config(folder: Path) -> str:
    commands: dict[str, list[str]] = {
        "files": [*_node("filesystem"), str(folder)],
        "all": [*_node("everything")],
        "memory": [*_node("memory")],
        "thinking": [*_node("sequential-thinking")],
        "git": [python_command("mcp-server-git"), "--repository", str(folder / "repository")],
        "time": [python_command("mcp-server-time")],
        "fetch": [python_command("mcp-server-fetch")],
        "sqlite": [python_command("mcp-server-sqlite"), "--db-path", str(folder / "files.db")],
        "asking": [*warm("modern.py")],
        "shifting": [*warm("shifting.py", str(folder / "shifting"))],
    }
    servers = "".join(
        f"[servers.{name}]\ncommand = {command[0]!r}\nargs = {command[1:]!r}\n" for name, command in commands.items()
    )
    memory = f"[servers.memory.env]\nMEMORY_FILE_PATH = {str(folder / 'graph.json')!r}\n"
    policy = '[policy]\nallow = ["*"]\nask = ["files.write_file"]\n'
    return f"{servers}{memory}{policy}[store]\npath = {str(folder / 'state')!r}\n"


def _node(name: str) -> tuple[str, str]:
    return node_command(next(package for package in NODE if name in package))


@asynccontextmanager
async def gateway(folder: Path, mode: Mode, person: Any = None) -> AsyncGenerator[Client]:
    with anyio.fail_after(240):
        async with Client(stdio(folder / "gristmill.toml"), mode=mode, elicitation_callback=person) as client:
            yield client


async def run(client: Client, code: str | None = None, **options: Any) -> dict[str, Any]:
    result: Any = await client.call_tool("execute_code", {"code": code, **options}, read_timeout_seconds=120)
    return result.structured_content


@pytest.mark.requirement("M3")
async def test_a_day_with_ten_servers(folder: Path, mode: Mode) -> None:
    asked: list[str] = []

    async def person(_context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        answer: Any = {"approve": "all"} if "write_file" in params.message else {"name": "Ann"}
        return ElicitResult(action="accept", content=answer)

    async with gateway(folder, mode, person) as client:
        found = text(await client.call_tool("search_tools", {"query": "show the commit log"}, read_timeout_seconds=120))
        assert "servers.git import" in found
        every = await run(client, EVERY.format(folder=str(folder), repository=str(folder / "repository")))
        assert every["result"] == 10, every

        joined = await run(client, JOIN.format(repository=str(folder / "repository")), session="new")
        assert joined["result"] == ["a.txt"], joined
        session = joined["session"]

        written = await run(client, WRITE.format(path=str(folder / "out.txt")), session=session)
        assert (written["status"], (folder / "out.txt").read_text()) == ("ok", "joined"), written
        greeted = await run(client, "from servers.asking import greet\nname = greet()\nname", session=session)
        assert greeted["result"] == "hello Ann"
        assert ["write_file" in asked[0], "who are you?" in asked[1]] == [True, True]

    async with gateway(folder, mode) as client:  # the next day, a client that cannot ask: the plan waits in the inbox
        waiting = await run(client, WRITE.format(path=str(folder / "later.txt")), session=session)
        assert (waiting["status"], (folder / "later.txt").exists()) == ("awaiting_approval", False)

    _approve(folder)

    async with gateway(folder, mode) as client:
        done = await run(client, resume=waiting["id"])
        assert (done["status"], (folder / "later.txt").read_text()) == ("ok", "joined"), done
        again = await run(client, "open('notes.txt', 'a').write('kept')\nimport os\nos.path.exists('notes.txt')", session=session)
        assert (again["result"], again["session"]) == (True, session)


def _approve(folder: Path) -> None:
    """As a person at another terminal does."""
    code = (
        "import asyncio, sys\nfrom gristmill import Runtime\n"
        "async def main():\n    async with Runtime.open(sys.argv[1]) as runtime:\n"
        "        for one in await runtime.approvals.list():\n"
        "            await runtime.approvals.decide(one.id, 'all', by='ann')\n"
        "asyncio.run(main())"
    )
    subprocess.run([sys.executable, "-c", code, str(folder / "gristmill.toml")], env=stdio(folder).env, check=True, timeout=120)
