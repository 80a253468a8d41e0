"""Calls get the names that their server knows."""

import asyncio

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.errors import ToolFailed, UnknownTool
from gristmill.model import Json, Tool, ToolCall, ToolResult
from gristmill.runtime.calls.proper_names import MOST_HINTS, UseProperNames

SCHEMA: dict[str, Json] = {"properties": {"limit": {}, "query": {}, "page": {}}, "required": ["query"]}
CATALOG = Catalog.from_tools([Tool(server="crm", name="find-all", input_schema=SCHEMA)])


def sent(tool: str, *positional: Json, **arguments: Json) -> ToolCall:
    seen: list[ToolCall] = []

    async def proceed(call: ToolCall) -> ToolResult:
        seen.append(call)
        return ToolResult(value=None)

    call = ToolCall(id=1, tool=tool, arguments=arguments, positional=positional)
    asyncio.run(_run(UseProperNames(CATALOG.get, _nothing_new, lambda key: CATALOG.find_key(key) is not None), call, proceed))
    return seen[0]


async def _nothing_new(_key: str) -> None:
    pass


async def _run(layer: UseProperNames, call: ToolCall, proceed: object) -> None:
    await layer(call, proceed)  # pyright: ignore[reportArgumentType]


def test_required_parameters_come_first_then_the_order_of_the_schema() -> None:
    call = sent("crm.find-all", "x", 5, page=2)
    assert (call.arguments, call.positional) == ({"query": "x", "limit": 5, "page": 2}, ())


def test_the_python_spelling_becomes_the_servers() -> None:
    assert sent("crm.find_all", query="x").tool == "crm.find-all"


def test_too_many_and_twice_are_explained() -> None:
    with pytest.raises(ToolFailed, match="at most 3 arguments"):
        sent("crm.find-all", 1, 2, 3, 4)
    with pytest.raises(ToolFailed, match="query twice"):
        sent("crm.find-all", 1, query=2)


def test_a_server_that_was_not_listed_yet_is_listed_first() -> None:
    known: dict[str, Catalog] = {"now": Catalog.from_tools([])}
    seen: list[str] = []

    async def listed(key: str) -> None:
        seen.append(key)
        known["now"] = CATALOG

    async def proceed(call: ToolCall) -> ToolResult:
        seen.append(call.tool)
        return ToolResult(value=None)

    layer = UseProperNames(lambda key: known["now"].get(key), listed, lambda key: known["now"].find_key(key) is not None)
    asyncio.run(_run(layer, ToolCall(id=1, tool="crm.find_all", arguments={}), proceed))
    assert seen == ["crm.find_all", "crm.find-all"]


def test_a_tool_that_nobody_has_does_not_leave() -> None:
    with pytest.raises(UnknownTool):
        sent("crm.other", a=1)


@pytest.mark.requirement("T88")
def test_only_the_first_unknown_names_of_a_run_are_compared_with_all_that_exist() -> None:
    looked: list[str] = []

    def find(key: str) -> Tool:
        looked.append(key)
        return CATALOG.get(key)

    async def proceed(_call: ToolCall) -> ToolResult:
        return ToolResult(value=None)

    layer = UseProperNames(find, _nothing_new, lambda key: CATALOG.find_key(key) is not None)
    for number in range(100):
        with pytest.raises(UnknownTool):
            asyncio.run(_run(layer, ToolCall(id=number, tool=f"crm.find-al{number}", arguments={}), proceed))
    assert len(looked) == MOST_HINTS
    asyncio.run(_run(layer, ToolCall(id=1, tool="crm.find-all", arguments={"query": 1}), proceed))
