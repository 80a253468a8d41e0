"""Every published tool we know yields a module that compiles, imports, and passes arguments on by their names."""

import re
import time
from collections.abc import Callable
from types import ModuleType

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import build_stub
from gristmill.catalog.modules.typescript_module import render_typescript_stub
from gristmill.catalog.types.schema_checker import SchemaChecker
from gristmill.catalog.types.tool_parameters import read_parameters
from gristmill.model import Tool

Import = Callable[[Catalog], ModuleType]


def check_every_tool(tools: list[Tool], import_stubs: Import) -> None:
    catalog = Catalog.from_tools(tools)
    assert catalog.left_out == ()
    servers = import_stubs(catalog)
    for tool in catalog:
        function = getattr(getattr(servers, catalog.modules[tool.server]), catalog.functions[tool.key])
        known = read_parameters(tool).known
        required = [each for each in known if each.required]
        by_name = {each.python: index for index, each in enumerate(known)}
        assert function(**by_name) == (tool.key, {each.name: index for index, each in enumerate(known)})
        assert function(*range(len(required))) == (tool.key, {each.name: i for i, each in enumerate(required)})
        assert {each.name for each in known} >= set(tool.input_schema.get("properties", {}))


def test_sixty_hard_definitions_can_be_imported_and_called(sample_tools: list[Tool], import_stubs: Import) -> None:
    check_every_tool(sample_tools, import_stubs)


@pytest.mark.timeout(300)
def test_every_real_definition_can_be_imported_and_called(real_tools: list[Tool], import_stubs: Import) -> None:
    assert len(real_tools) == 2653
    check_every_tool(real_tools, import_stubs)


def test_every_hard_definition_has_typescript_declarations(sample_tools: list[Tool]) -> None:
    for tool in sample_tools:
        text = render_typescript_stub(build_stub(tool, "tool_name"))
        assert "export function tool_name(" in text
        code = re.sub(r'/\*.*?\*/|"(\\.|[^"\\])*"', "", text, flags=re.DOTALL)
        assert (code.count("{"), code.count("*/")) == (code.count("}"), 0)


def test_every_real_schema_can_be_checked(real_tools: list[Tool]) -> None:
    checker = SchemaChecker()
    notes = {tool.key: checker.notes(tool) for tool in real_tools if checker.notes(tool)}
    assert sorted(notes) == [
        "line_line-bot-mcp-server.broadcast_flex_message",
        "line_line-bot-mcp-server.push_flex_message",
    ]


def test_no_real_definition_takes_long_to_read(real_tools: list[Tool]) -> None:
    started = time.process_time()
    for tool in real_tools:
        build_stub(tool, "tool_name")
    # 0.11 ms each on the machine this was written on; the bound only catches a change of order.
    assert (time.process_time() - started) / len(real_tools) < 0.002
