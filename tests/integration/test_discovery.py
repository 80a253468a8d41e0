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
    assert [each["signature"].startswith("rows(count: int)") for each in plain] == [True]


@pytest.mark.parametrize(
    ("level", "fields"),
    [
        ("name_only", {"name", "server"}),
        ("with_description", {"name", "server", "description"}),
        ("full", {"name", "server", "description", "input_schema", "output_schema", "signature"}),
    ],
)
def test_code_gets_exactly_the_fields_of_the_level_and_prints_them_as_text(
    runtime: BlockingRuntime, level: str, fields: set[str]
) -> None:
    outcome = runtime.execute(f"found = search_tools('a large answer', detail_level={level!r}, limit=1)\nprint(found)\nfound")
    assert [set(each) for each in outcome.result] == [fields]
    assert outcome.result[0]["name"] == "rows"
    assert outcome.output.strip() == runtime.search("a large answer", detail_level=level, limit=1).text  # pyright: ignore[reportArgumentType]


def test_the_answer_of_a_search_in_code_has_the_methods_of_its_text(runtime: BlockingRuntime) -> None:
    code = (
        "found = search_tools('a large answer', limit=1)\n['crm.rows' in found, 'rows(count' in found, len(found.splitlines()) > 1,"
        " ('# ' + found)[:2], f'{found}' == str(found), isinstance(found, list), found[0]['server']]"
    )
    assert result(runtime, code) == [False, True, True, "# ", True, True, "crm"]


def test_an_empty_query_lists_tools(runtime: BlockingRuntime) -> None:
    listed = "[each['name'] for each in search_tools('', limit=100) if each['server'] == 'crm']"  # skills are listed, too
    assert result(runtime, listed) == ["fail", "find", "get", "rows", "slow"]
    assert [hit.tool.name for hit in runtime.search("", limit=2).hits] == ["fail", "find"]
    assert [dict(each) for each in runtime.search(" ", limit=1, detail_level="name_only").tools] == [
        {"name": "fail", "server": "crm"}
    ]


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
