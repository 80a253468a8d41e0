"""Tools in the shape of a provider's API."""

import re

import pytest

from gristmill.model import Tool
from gristmill.runs.texts.provider_tools import ExportedTools, ExportOptions, Format, export_tools, make_provider_name

USER = {"type": "object", "properties": {"name": {"type": "string"}}}
GET = Tool(
    server="crm",
    name="get-user",
    description="Get a user.",
    input_schema={"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    output_schema=USER,
)
FIND = Tool(server="crm", name="find", input_schema={"oneOf": [{"required": ["a"]}], "properties": {"a": {}}, "$schema": "x"})
ODD = Tool(server="odd.server", name="filter", input_schema={"properties": {"$filter": {"type": "string"}}})


def made(form: Format, **wishes: bool) -> ExportedTools:
    return export_tools([GET, FIND, ODD], form, ExportOptions(**wishes))


def test_for_anthropic_tools_are_deferred_and_callable_from_code() -> None:
    found = made("anthropic")
    assert found.tools == (
        {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
        {"type": "code_execution_20260521", "name": "code_execution"},
        {
            "name": "crm__find",
            "description": 'find\n\nThe arguments also satisfy {"oneOf":[{"required":["a"]}]}\n\n'
            "Returns JSON, or text where it has no other form",
            "input_schema": {"type": "object", "properties": {"a": {}}},
            "allowed_callers": ["direct", "code_execution_20260521"],
            "defer_loading": True,
        },
        {
            "name": "crm__get-user",
            "description": 'Get a user.\n\nReturns JSON of the schema {"type":"object","properties":{"name":{"type":"string"}}}',
            "input_schema": GET.input_schema,
            "allowed_callers": ["direct", "code_execution_20260521"],
            "defer_loading": True,
        },
    )
    assert found.names == {"crm__find": "crm.find", "crm__get-user": "crm.get-user"}


def test_for_openai_servers_are_namespaces_and_functions_have_output_schemas() -> None:
    found = made("openai")
    space, search, code = found.tools
    assert (search, code) == ({"type": "tool_search"}, {"type": "programmatic_tool_calling"})
    assert (space["type"], space["name"], [tool["name"] for tool in space["tools"]]) == ("namespace", "crm", ["find", "get-user"])
    assert space["tools"][1] == {
        "type": "function",
        "name": "get-user",
        "description": "Get a user.",
        "parameters": GET.input_schema,
        "strict": False,
        "allowed_callers": ["direct", "programmatic"],
        "output_schema": USER,
        "defer_loading": True,
    }
    assert found.names == {"crm.find": "crm.find", "crm.get-user": "crm.get-user"}


@pytest.mark.parametrize("form", ["anthropic", "openai"])
def test_without_wishes_plain_tools_remain(form: Format) -> None:
    text = repr(made(form, defer=False, code=False).tools)
    assert not re.search("defer_loading|allowed_callers|output_schema|tool_search|code_execution|programmatic", text)


def test_what_a_provider_cannot_take_is_named() -> None:
    assert made("openai").left_out == {"odd.server.filter": "providers do not accept a parameter called '$filter'"}


def test_names_are_short_safe_and_never_the_same() -> None:
    tools = [Tool(server="s", name=name) for name in ("a b", "a.b", "x" * 200, "x" * 201, "名前")]
    names = export_tools(tools, "anthropic", ExportOptions()).names
    assert sorted(names.values()) == sorted(tool.key for tool in tools)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names)
    assert make_provider_name("a b", ["a_b"]) != "a_b"


@pytest.mark.requirement("T80")
def test_a_name_that_is_made_to_equal_another_gets_more_digits() -> None:
    short = make_provider_name("a b", ["a_b"])
    longer = make_provider_name("a b", ["a_b", short])
    last = make_provider_name("a b", ["a_b", short, longer])
    assert len({"a_b", short, longer, last}) == 4
    assert all(len(name) <= 64 for name in (short, longer, last))


def test_the_order_does_not_depend_on_who_lists_first() -> None:
    assert export_tools([GET, FIND], "openai", ExportOptions()) == export_tools([FIND, GET], "openai", ExportOptions())
