"""LangChain's standard suites for tools, over both of our tools. `test_standard_suites.py` runs this file with the plugins they need."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from gristmill import BlockingRuntime, Config
from gristmill.serve.langchain import GristmillToolkit

_tools: dict[str, BaseTool] = {}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture(scope="session", autouse=True)
def opened_tools(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Opens a runtime with a real sandbox for all suites."""
    folder: Path = tmp_path_factory.mktemp("suites")
    with BlockingRuntime(Config.model_validate({"store": {"path": str(folder)}}), tools={"sums.add": add}) as runtime:
        _tools.update({tool.name: tool for tool in GristmillToolkit(runtime).get_tools()})
        yield


class _SearchTool:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tools["search_tools"]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"query": "add two numbers", "limit": 3}


class _ExecuteTool:
    @property
    def tool_constructor(self) -> BaseTool:
        return _tools["execute_code"]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"code": "from servers.sums import add\nadd(a=40, b=2)"}


class TestSearchToolUnit(_SearchTool, ToolsUnitTests):
    """The unit suite for ``search_tools``."""


class TestSearchToolIntegration(_SearchTool, ToolsIntegrationTests):
    """The integration suite for ``search_tools``."""


class TestExecuteToolUnit(_ExecuteTool, ToolsUnitTests):
    """The unit suite for ``execute_code``."""


class TestExecuteToolIntegration(_ExecuteTool, ToolsIntegrationTests):
    """The integration suite for ``execute_code``."""
