"""A key says where a call goes."""

import pytest

from gristmill.errors import UnknownTool, UpstreamError
from gristmill.model import Tool, ToolCall, ToolResult
from gristmill.upstream.base import ServerStatus, Upstreams, check_tool_listed

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Recording:
    """An upstream that remembers what it was asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools = (Tool(server=name, name="a.b"),)
        self.status = ServerStatus(name=name, kind="python", state="ready", tools=1)
        self.is_listed = True
        self.called: list[str] = []

    async def run(self) -> None: ...

    async def wait_until_settled(self) -> None: ...

    async def connect(self) -> None: ...

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        self.called.append(tool)
        return ToolResult(value=call.arguments)


async def test_a_call_goes_to_the_server_before_the_first_dot() -> None:
    one, two = Recording("one"), Recording("two")
    upstreams = Upstreams([one, two])
    result = await upstreams(ToolCall(id=1, tool="two.a.b", arguments={"x": 1}))
    assert result == ToolResult(value={"x": 1})
    assert (one.called, two.called) == ([], ["a.b"])
    assert [tool.key for tool in upstreams.tools] == ["one.a.b", "two.a.b"]
    assert [status.name for status in upstreams.status] == ["one", "two"]


async def test_a_key_without_a_known_server_is_refused() -> None:
    for key in ("three.a", "a", "", ".a"):
        with pytest.raises(UnknownTool):
            await Upstreams([Recording("one")])(ToolCall(id=1, tool=key, arguments={}))


async def test_arguments_without_names_do_not_get_lost_in_silence() -> None:
    with pytest.raises(UpstreamError):
        await Upstreams([Recording("one")])(ToolCall(id=1, tool="one.a", arguments={}, positional=(1,)))


def test_near_names_are_offered() -> None:
    with pytest.raises(UnknownTool) as caught:
        check_tool_listed("serch", "s", [Tool(server="s", name="search"), Tool(server="s", name="other")])
    assert caught.value.near == ("search",)
