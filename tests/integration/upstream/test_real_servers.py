"""Published servers, installed by `python -m tests.servers`, each called the way an agent would."""

import subprocess
from pathlib import Path

import pytest

from gristmill.catalog.answers.compact_signature import render_compact_signature
from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ToolFailed
from gristmill.events import CallProgressed
from gristmill.upstream.mcp.blob import Blob
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, opened, recorder, web, world
from tests.servers import HERE, NODE, client_python, node_command, python_command

pytestmark = pytest.mark.anyio


def _node(name: str, *args: str) -> ServerConfig:
    package = next(package for package in NODE if name in package)
    command, script = node_command(package)
    return ServerConfig(command=command, args=(script, *args))


def _python(name: str, *args: str) -> ServerConfig:
    return ServerConfig(command=python_command(name), args=args)


async def test_filesystem_reads_what_it_may_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    async with opened(files=_node("filesystem", str(tmp_path))) as upstreams:
        read = await call(upstreams, "files.read_text_file", path=str(tmp_path / "note.txt"))
        assert read == {"content": "hello"}
        with pytest.raises(ToolFailed):
            await call(upstreams, "files.read_text_file", path="/etc/passwd")
        assert upstreams["files"].status.era == "legacy"


async def test_everything_sends_images_resources_progress_and_structure() -> None:
    events, emit = recorder()
    async with open_upstreams({"all": _node("everything")}, world(emit=emit)) as upstreams:
        assert await call(upstreams, "all.echo", message="hi") == "Echo: hi"
        image = await call(upstreams, "all.get-tiny-image")
        assert any(isinstance(part, Blob) and part.mime == "image/png" for part in image)
        weather = await call(upstreams, "all.get-structured-content", location="Chicago")
        assert set(weather) == {"temperature", "conditions", "humidity"}
        links = await call(upstreams, "all.get-resource-links", count=2)
        assert [part["uri"][:5] for part in links[1:]] == ["demo:", "demo:"]
        await call(upstreams, "all.trigger-long-running-operation", duration=1, steps=2)
        assert [event.progress for event in events if isinstance(event, CallProgressed)] == [1, 2]


async def test_memory_keeps_a_graph(tmp_path: Path) -> None:
    config = _node("memory").model_copy(update={"env": {"MEMORY_FILE_PATH": str(tmp_path / "graph.json")}})
    async with opened(memory=config) as upstreams:
        entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
        await call(upstreams, "memory.create_entities", entities=[entity])
        graph = await call(upstreams, "memory.read_graph")
        assert graph["entities"][0]["name"] == "Ann"


async def test_git_tells_the_history(tmp_path: Path) -> None:
    for command in (
        ["init", "-q"],
        ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"],
    ):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    async with opened(git=_python("mcp-server-git", "--repository", str(tmp_path))) as upstreams:
        log = await call(upstreams, "git.git_log", repo_path=str(tmp_path))
        assert "first" in str(log)


async def test_time_converts() -> None:
    async with opened(time=_python("mcp-server-time", "--local-timezone", "UTC")) as upstreams:
        answer = await call(upstreams, "time.convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")
        assert answer["time_difference"] == "+9.0h"


async def test_fetch_reads_a_page() -> None:
    config = _python("mcp-server-fetch", "--allow-private-ips", "--ignore-robots-txt")
    async with web() as at, opened(fetch=config) as upstreams:
        page = await call(upstreams, "fetch.fetch", url=at["issuer"] + "/stats", raw=True)
        assert "register" in str(page)


async def test_sqlite_answers_a_query(tmp_path: Path) -> None:
    async with opened(db=_python("mcp-server-sqlite", "--db-path", str(tmp_path / "a.db"))) as upstreams:
        await call(upstreams, "db.create_table", query="create table t (n integer)")
        await call(upstreams, "db.write_query", query="insert into t values (7)")
        assert "7" in str(await call(upstreams, "db.read_query", query="select n from t"))


async def test_lists_and_scalars_of_fastmcp_are_what_the_tools_return_and_their_types_say_so() -> None:
    config = ServerConfig(command=client_python("client-fastmcp"), args=(str(HERE / "with_fastmcp.py"),))
    async with opened(lists=config) as upstreams:
        assert await call(upstreams, "lists.rows", count=2) == [{"name": "row 0", "total": 0.0}, {"name": "row 1", "total": 0.5}]
        assert await call(upstreams, "lists.rows", count=0) == []
        assert await call(upstreams, "lists.total", numbers=[1, 2]) == 3
        assert await call(upstreams, "lists.summary") == {"result": 7}
        stubs = {tool.name: render_compact_signature(tool) for tool in upstreams["lists"].tools}
    assert "-> list[" in stubs["rows"], stubs
    assert stubs["total"].endswith("-> int"), stubs
