"""The travel assistant on both of its databases."""

from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer

from examples.pam.__main__ import server_over
from examples.pam.stored import Stored, open_postgres, open_sqlite


def call(pam: MCPServer, tool: str, **arguments: Any) -> Any:
    """What a tool answers."""
    answer: Any = anyio.run(pam.call_tool, tool, arguments)
    found = answer.structured_content
    return found["result"] if set(found) == {"result"} else found


@pytest.fixture(scope="module")
def in_postgres(new_database: Callable[[], str]) -> Generator[Stored]:
    stored = open_postgres(new_database())
    with closing(stored.records.database):
        yield stored


@pytest.fixture(scope="module")
def in_sqlite() -> Generator[Stored]:
    stored = open_sqlite()
    with closing(stored.records.database):
        yield stored


@pytest.fixture(scope="module")
def on_postgres(in_postgres: Stored) -> MCPServer:
    return server_over(in_postgres)


@pytest.fixture(scope="module")
def on_sqlite(in_sqlite: Stored) -> MCPServer:
    return server_over(in_sqlite)


@pytest.fixture(scope="module", params=["on_sqlite", "on_postgres"])
def pam(request: pytest.FixtureRequest) -> MCPServer:
    return request.getfixturevalue(request.param)
