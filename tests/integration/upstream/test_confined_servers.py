"""Published servers, each within walls: they start as they are installed and do their work, and no more than that."""

import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ToolFailed
from gristmill.runtime.open.confine_servers import build_confine
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, web, world
from tests.servers import TOOLS, python_command

pytestmark = [pytest.mark.anyio, pytest.mark.requirement("T41")]


def _config(command: str, *args: str, **confine: Any) -> ServerConfig:
    return ServerConfig.model_validate({"command": command, "args": args, "confine": confine})


@pytest.fixture
def walls(tmp_path: Path) -> dict[str, Any]:
    """A world that confines, with its state beside the test's folder."""
    return {"confine": build_confine(tmp_path / "state")}


async def test_filesystem_works_in_its_folder_and_cannot_leave_it_even_where_it_would(
    tmp_path: Path, walls: dict[str, Any]
) -> None:
    room, secret = tmp_path / "room", tmp_path / "secret"
    for folder in (room, secret):
        folder.mkdir()
        (folder / "note.txt").write_text("hello")
    program = str(TOOLS / "node" / "node_modules" / ".bin" / "mcp-server-filesystem")
    # It is told that both folders are its own: only the walls keep it out of the second.
    files = _config(program, str(room), str(secret), write=[str(room)])
    with fail_after(60):
        async with open_upstreams({"files": files}, world(**walls)) as upstreams:
            await call(upstreams, "files.write_file", path=str(room / "new.txt"), content="made")
            assert (room / "new.txt").read_text() == "made"
            assert await call(upstreams, "files.read_text_file", path=str(room / "note.txt")) == {"content": "hello"}
            with pytest.raises(ToolFailed, match="EACCES"):
                await call(upstreams, "files.read_text_file", path=str(secret / "note.txt"))
            assert upstreams["files"].status.confined


async def test_git_reads_a_repository_and_cannot_write_to_it(tmp_path: Path, walls: dict[str, Any]) -> None:
    repo = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "file").write_text("x")
    git = _config(python_command("mcp-server-git"), "--repository", str(repo), read=[str(repo)])
    with fail_after(60):
        async with open_upstreams({"git": git}, world(**walls)) as upstreams:
            assert "file" in str(await call(upstreams, "git.git_status", repo_path=str(repo)))
            with pytest.raises(ToolFailed):
                await call(upstreams, "git.git_add", repo_path=str(repo), files=["file"])


async def test_sqlite_writes_its_database(tmp_path: Path, walls: dict[str, Any]) -> None:
    room = tmp_path / "room"
    room.mkdir()
    server = _config(python_command("mcp-server-sqlite"), "--db-path", str(room / "x.db"), write=["room"])
    server = server.model_copy(update={"cwd": tmp_path})  # the walls are named from where it stands
    with fail_after(60):
        async with open_upstreams({"db": server}, world(**walls)) as upstreams:
            await call(upstreams, "db.create_table", query="CREATE TABLE t (x)")
    assert sqlite3.connect(room / "x.db").execute("SELECT name FROM sqlite_master").fetchall() == [("t",)]


async def test_time_needs_nothing_but_itself(walls: dict[str, Any]) -> None:
    server = _config(python_command("mcp-server-time"), "--local-timezone", "UTC")
    with fail_after(60):
        async with open_upstreams({"time": server}, world(**walls)) as upstreams:
            assert "datetime" in str(await call(upstreams, "time.get_current_time", timezone="UTC"))


@pytest.mark.parametrize("network", [True, False])
async def test_fetch_reaches_the_network_only_if_it_may(walls: dict[str, Any], network: bool) -> None:
    server = _config(python_command("mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips", network=network)
    with fail_after(60):
        async with web() as addresses, open_upstreams({"fetch": server}, world(**walls)) as upstreams:
            asked = call(upstreams, "fetch.fetch", url=next(iter(addresses.values())))
            if network:
                with pytest.raises(ToolFailed, match="status code"):  # an MCP endpoint answers, though not to a browser
                    await asked
            else:
                with pytest.raises(ToolFailed, match="ConnectError"):
                    await asked


async def test_a_home_that_is_configured_is_kept(tmp_path: Path, walls: dict[str, Any]) -> None:
    (room := tmp_path / "room").mkdir()
    server = _config(python_command("mcp-server-time"), write=["${env:ROOM}"])
    server = server.model_copy(update={"env": {"HOME": "${env:ROOM}"}})
    with fail_after(60):
        async with open_upstreams({"time": server}, world(environ={**os.environ, "ROOM": str(room)}, **walls)) as upstreams:
            await upstreams["time"].wait_until_settled()
            assert upstreams["time"].status.state == "ready", upstreams["time"].status.error


async def test_where_nobody_can_confine_the_server_is_not_started() -> None:
    with fail_after(60):
        async with open_upstreams({"time": _config(python_command("mcp-server-time"))}, world()) as upstreams:
            await upstreams["time"].wait_until_settled()
            status = upstreams["time"].status
    assert status.state == "failed"
    assert "which is not possible here" in str(status.error)
