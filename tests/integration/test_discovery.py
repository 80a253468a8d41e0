"""Tools are found from outside and from inside the sandbox, and calls are checked before they leave."""

from pathlib import Path

import pytest

from gristmill import BlockingRuntime, Config
from gristmill.config.tree import SandboxConfig, StoreConfig
from gristmill.errors import UnknownTool
from gristmill.model import Json
from tests.servers.warm import server_of

IMPORT = "from tool_discovery import search_tools, list_servers, list_tools, describe\n"


def result(runtime: BlockingRuntime, code: str) -> Json:
    outcome = runtime.execute(code)
    assert outcome.error is None
    return outcome.result


def test_the_runtime_searches_lists_and_describes(runtime: BlockingRuntime) -> None:
    found = runtime.search("a large answer", limit=2)
    assert found.hits[0].tool.key == "crm.rows"
    assert "from servers.crm import rows" in found.text
    assert [(server.name, server.tools) for server in runtime.list_servers()] == [("crm", 5)]
    assert "crm.get" in [tool.key for tool in runtime.list_tools("crm")]
    assert "def find(q: str, limit: int=10)" in runtime.describe("crm.find").text
    assert [(row.name, row.state) for row in runtime.servers()] == [("crm", "ready")]
    with pytest.raises(UnknownTool, match=r"did you mean crm\.find"):
        runtime.describe("crm.fnd")


def test_code_searches_plainly_and_awaited(runtime: BlockingRuntime) -> None:
    plain, awaited = result(
        runtime, IMPORT + "a = search_tools('a large answer', limit=1)\nb = await search_tools('large answer', limit=1)\n[a, b]"
    )
    assert plain == awaited
    assert "rows(count: int)" in plain


def test_code_asks_several_questions_at_once(runtime: BlockingRuntime) -> None:
    servers, tools, text = result(
        runtime,
        IMPORT
        + "import asyncio\nawait asyncio.gather(list_servers(), list_tools('crm'), describe(['crm.get'], language='typescript'))",
    )
    assert servers == [{"name": "crm", "tools": 5}]
    assert {"key": "crm.get", "description": "A tool that models call by position."} in tools
    assert "export function get(" in text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("describe('crm.fnd')", "did you mean crm.find?"),
        ("list_tools('crmm')", "did you mean crm?"),
        ("search_tools('x', detail_level='all')", "detail_level"),
    ],
)
def test_bad_questions_are_errors_that_help(runtime: BlockingRuntime, question: str, words: str) -> None:
    outcome = runtime.execute(IMPORT + question)
    assert (outcome.status, outcome.error_type) == ("failed", "ToolError")
    assert words in (outcome.error or "")


def test_what_search_shows_can_be_run(runtime: BlockingRuntime) -> None:
    line = runtime.search("a tool that models call by position", limit=1).text.splitlines()[0]
    assert result(runtime, f"{line}\nget(7)") == {"number": 7}


@pytest.mark.requirement("T24")
def test_wrong_arguments_do_not_leave(runtime: BlockingRuntime) -> None:
    outcome = runtime.execute(
        "from servers import crm\nfrom mcp_client import ToolError\ntry:\n    crm.get('seven')\nexcept ToolError as e:\n    r = [e.code, str(e)]\nr"
    )
    assert outcome.result == ["refused.call", 'crm.get: number: got "seven" (string), expected integer']


def test_a_server_of_its_own_is_listed_found_and_remembered(state: Path) -> None:
    server = server_of("modern.py")
    config = Config(servers={"modern": server}, sandbox=SandboxConfig(warm=0), store=StoreConfig(path=state))
    with BlockingRuntime(config) as runtime:
        runtime.settled(30)
        assert [row.state for row in runtime.servers()] == ["ready"]
        assert runtime.search("greet").hits[0].tool.key == "modern.greet"
    with BlockingRuntime(config) as again:
        assert "from servers.modern import greet" in again.search("greet", limit=1).text
        assert [row.state for row in again.servers()] == ["idle"]


def test_modules_are_named_as_code_imports_them(runtime: BlockingRuntime) -> None:
    assert runtime.modules()["crm"] == ("fail", "find", "get", "rows", "slow")
