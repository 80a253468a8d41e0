"""Servers that are added, replaced and removed while calls are under way."""

from typing import Any

import anyio
import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import UnknownTool
from gristmill.model import Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus
from gristmill.upstream.changing_servers import ChangingServers, ServerChanges
from gristmill.upstream.lazy_server import LazyServer
from gristmill.upstream.listing.remembered_tools import RememberedTools

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class SlowServer:
    """A server whose calls are answered when the test says so."""

    def __init__(self, name: str, config: ServerConfig) -> None:
        self.name, self.config = name, config
        self.tools: tuple[Tool, ...] = (Tool(server=name, name="get"),)
        self.is_listed = True
        self.called, self.answer, self.ended = anyio.Event(), anyio.Event(), anyio.Event()

    @property
    def status(self) -> ServerStatus:
        return ServerStatus(name=self.name, kind="stdio", state="ready", tools=1)

    async def run(self) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            self.ended.set()

    async def wait_until_settled(self) -> None: ...

    async def connect(self) -> None: ...

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        self.called.set()
        await self.answer.wait()
        return ToolResult(value=f"{tool} of {self.config.command}")


def servers(**commands: str) -> dict[str, ServerConfig]:
    return {name: ServerConfig(command=command) for name, command in commands.items()}


def get(server: str) -> ToolCall:
    return ToolCall(id=1, tool=f"{server}.get", arguments={})


async def test_only_what_differs_is_opened_and_closed() -> None:
    async with anyio.create_task_group() as tasks:
        changing = ChangingServers(tasks, SlowServer)
        assert changing.change(servers(one="a", two="b")) == ServerChanges(added=("one", "two"))
        kept, replaced = changing["one"], changing["two"]
        found = changing.change(servers(three="c", one="a", two="other"))
        assert found == ServerChanges(added=("three",), changed=("two",))
        assert changing["one"] is kept
        assert changing["two"] is not replaced
        assert [upstream.name for upstream in changing] == ["three", "one", "two"]
        assert changing.change({"one": ServerConfig(command="a", enabled=False)}).removed == ("three", "one", "two")
        assert not changing.change({})
        with pytest.raises(UnknownTool):
            await changing(get("one"))
        tasks.cancel_scope.cancel()


async def test_a_call_under_way_ends_before_its_server_does() -> None:
    results: list[Any] = []
    async with anyio.create_task_group() as tasks:
        changing = ChangingServers(tasks, SlowServer)
        changing.change(servers(one="old"))
        old: Any = changing["one"]

        async def call() -> None:
            results.append((await changing(get("one"))).value)

        tasks.start_soon(call)
        await old.called.wait()
        changing.change(servers(one="new"))
        new: Any = changing["one"]
        new.answer.set()
        assert (await changing(get("one"))).value == "get of new"
        assert not old.ended.is_set()
        old.answer.set()
        await old.ended.wait()
        assert results == ["get of old"]
        tasks.cancel_scope.cancel()


async def test_servers_of_the_application_stay() -> None:
    async with anyio.create_task_group() as tasks:
        ours, later = SlowServer("ours", ServerConfig(command="x")), SlowServer("later", ServerConfig(command="x"))
        changing = ChangingServers(tasks, SlowServer, (ours,))
        changing.add(later)
        changing.change(servers(one="a"))
        changing.change({})
        assert list(changing) == [ours, later]
        tasks.cancel_scope.cancel()


async def test_a_server_that_goes_before_it_was_built_disturbs_nobody() -> None:
    building, may_build = anyio.Event(), anyio.Event()

    def open_lazily(name: str, config: ServerConfig) -> LazyServer:
        async def make() -> SlowServer:
            building.set()
            await may_build.wait()
            return SlowServer(name, config)

        return LazyServer(name, "stdio", RememberedTools(), make)

    async with anyio.create_task_group() as tasks:
        changing = ChangingServers(tasks, open_lazily)
        changing.change(servers(one="a", two="b"))
        await building.wait()
        gone = changing["one"]
        changing.change(servers(two="b"))
        await gone.wait_until_settled()
        may_build.set()
        await changing["two"].wait_until_settled()
        assert changing["two"].status.state == "ready"
        tasks.cancel_scope.cancel()
