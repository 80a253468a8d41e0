"""Finding tools, told with Python functions: what is found, how it is shown, and that nothing is done twice."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.config.tree import Config
from gristmill.errors import ConfigError, NotFound, UnknownTool
from gristmill.model import Tool
from gristmill.runtime.build import open_rooms
from gristmill.runtime.tools.discovery import Discovery
from gristmill.runtime.tools.tool_library import INDEXES_KEPT, ToolLibrary
from gristmill.upstream.base import ServerStatus, Upstreams
from gristmill.upstream.python_functions import PythonFunctions

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def list_orders(since: str, state: str = "open") -> list[dict[str, Any]]:
    """List the orders of a shop. More about it."""
    return []


def refund(order: int, amount: float) -> bool:
    """Give money back for an order."""
    return True


def send_mail(to: str, text: str) -> None:
    """Send an email."""


class Slow(PythonFunctions):
    """A server that never answers."""

    tools = ()  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]
    asked = False

    async def wait_until_settled(self) -> None:
        self.asked = True
        await anyio.sleep_forever()


@pytest.fixture
def upstreams() -> Upstreams:
    shop = PythonFunctions("web-shop", {"list-orders": list_orders, "refund": refund})
    return Upstreams((shop, PythonFunctions("mail", [send_mail])))


@pytest.fixture
def discovery(upstreams: Upstreams, tmp_path: Path) -> Discovery:
    return Discovery(upstreams, ToolLibrary(upstreams, tmp_path))


async def test_the_text_can_be_pasted(discovery: Discovery) -> None:
    found = await discovery.search("orders of a shop", limit=1)
    assert [hit.tool.key for hit in found.hits] == ["web-shop.list-orders"]
    assert found.text == (
        "from servers.web_shop import list_orders\n\n"
        "# List the orders of a shop.\n"
        "list_orders(since: str, state: str = 'open') -> list[dict]"
    )


async def test_less_can_be_asked_for(discovery: Discovery) -> None:
    assert (await discovery.search("refund", detail_level="name_only", limit=1)).text == "web-shop.refund"
    assert [hit.tool.server for hit in (await discovery.search("send", server="web-shop")).hits] == ["web-shop"] * 2
    assert (await discovery.search("refund", budget_tokens=1)).text == ""


async def test_unknown_names_are_answered_with_near_ones(discovery: Discovery) -> None:
    with pytest.raises(NotFound, match="did you mean web-shop"):
        await discovery.search("x", server="web-shp")
    with pytest.raises(NotFound, match="there are web-shop, mail"):
        discovery.list_tools("zzz")
    with pytest.raises(UnknownTool, match=r"did you mean mail\.send_mail"):
        await discovery.describe("mail.send_mial")


async def test_lists_understand_both_spellings(discovery: Discovery) -> None:
    assert [(server.name, server.tools) for server in discovery.list_servers()] == [("web-shop", 2), ("mail", 1)]
    assert [tool.name for tool in discovery.list_tools("web_shop")] == ["list-orders", "refund"]


async def test_describe_gives_source_in_both_languages(discovery: Discovery) -> None:
    python = await discovery.describe(["web-shop.refund", "mail.send_mail"])
    assert [tool.key for tool in python.tools] == ["web-shop.refund", "mail.send_mail"]
    assert "def refund(order: int, amount: float) -> bool:" in python.text
    assert "export function refund(" in (await discovery.describe("web-shop.refund", language="typescript")).text


async def test_rows_count_the_tokens_of_definitions(discovery: Discovery) -> None:
    shop, mail = await discovery.servers()
    assert (shop.name, shop.state, shop.tools, shop.error, shop.tokens > mail.tokens > 20) == ("web-shop", "ready", 2, None, True)


async def test_waiting_for_servers_is_bounded(tmp_path: Path) -> None:
    slow = Slow("slow", [])
    upstreams = Upstreams((slow,))
    with anyio.fail_after(5):
        await Discovery(upstreams, ToolLibrary(upstreams, tmp_path)).wait_until_listed(0.01)
    assert slow.asked


async def test_no_tools_find_nothing(tmp_path: Path) -> None:
    upstreams = Upstreams(())
    found = await Discovery(upstreams, ToolLibrary(upstreams, tmp_path)).search("x")
    assert (found.hits, found.text) == ((), "")


async def test_an_index_is_built_once_and_read_from_disk_later(
    upstreams: Upstreams, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = ToolLibrary(upstreams, tmp_path)
    first = await library.load_searchable()
    assert await library.load_searchable() is first

    def build(*_: object) -> ToolIndex:
        raise AssertionError("it is on disk")

    monkeypatch.setattr(ToolIndex, "build", build)
    again = await ToolLibrary(upstreams, tmp_path).load_searchable()
    assert [hit.tool.key for hit in again.index.search("refund", 1)] == ["web-shop.refund"]


async def test_a_changed_catalogue_gets_another_index_and_old_ones_go(tmp_path: Path) -> None:
    class Changing:
        name = "one"
        tools: tuple[Tool, ...] = ()
        status = ServerStatus(name="one", kind="python")

    server: Any = Changing()
    library = ToolLibrary(Upstreams([server]), tmp_path)
    for number in range(INDEXES_KEPT + 2):
        server.tools = (Tool(server="one", name=f"tool_{number}"),)
        assert [tool.name for tool in (await library.load_searchable()).index.tools] == [f"tool_{number}"]
    assert len(list(tmp_path.glob("index-*.bin"))) == INDEXES_KEPT


async def test_a_folder_that_cannot_be_written_costs_only_the_cache(upstreams: Upstreams, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = await Discovery(upstreams, ToolLibrary(upstreams, tmp_path / "file" / "catalog")).search("refund", limit=1)
    assert [hit.tool.name for hit in found.hits] == ["refund"]


async def test_reserved_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="taken by Gristmill"):
        async with open_rooms(Config(), {"gristmill.search_tools": refund}):
            pass


def test_executing_code_loads_neither_arrays_nor_vocabulary() -> None:
    program = "import sys, gristmill.blocking; print([m for m in ('numpy', 'rs_bpe', 'mcp') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
