"""Every row belongs to somebody, and nobody reads or changes another's."""

import sqlite3
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from examples.pam.__main__ import server
from examples.pam.seed import build


@pytest.fixture(scope="module")
def pam() -> MCPServer:
    return server()


def call(pam: MCPServer, tool: str, **arguments: Any) -> Any:
    answer: Any = anyio.run(pam.call_tool, tool, arguments)
    found = answer.structured_content
    return found["result"] if set(found) == {"result"} else found


def test_there_are_47_tools_and_each_says_whether_it_writes(pam: MCPServer) -> None:
    tools = anyio.run(pam.list_tools)

    assert len(tools) == 47
    assert all(tool.annotations and tool.annotations.read_only_hint is not None and tool.output_schema for tool in tools)
    wordings = ("add_", "set_", "update_", "delete_", "create_", "cancel_", "remove_", "book_")
    writing = {tool.name for tool in tools if tool.annotations and not tool.annotations.read_only_hint}
    assert writing == {tool.name for tool in tools if tool.name.startswith(wordings)}


def test_the_records_are_the_same_every_time() -> None:
    def fingerprint() -> list[str]:
        connection = sqlite3.connect(":memory:")
        build(connection)
        return list(connection.iterdump())

    assert fingerprint() == fingerprint()


def test_no_owned_tool_answers_for_another_user(pam: MCPServer) -> None:
    theirs = call(pam, "get_expenses", user_id=2, limit=1)[0]["id"]

    with pytest.raises(ToolError, match="belongs to somebody else"):
        call(pam, "get_expense", user_id=1, expense_id=theirs)
    with pytest.raises(ToolError, match="belongs to somebody else"):
        call(pam, "delete_expense", user_id=1, expense_id=theirs)
    assert call(pam, "get_expense", user_id=2, expense_id=theirs)["id"] == theirs


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(DISTINCT user_id) AS n FROM expenses",
        "WITH expenses AS (SELECT * FROM main.expenses) SELECT count(DISTINCT user_id) FROM expenses",
        "SELECT count(DISTINCT user_id) FROM (SELECT user_id FROM trips UNION SELECT user_id FROM events)",
    ],
)
def test_sql_sees_one_users_rows_whatever_it_says(pam: MCPServer, query: str) -> None:
    assert call(pam, "execute_sql", user_id=3, query=query)["rows"] == [[1]]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM trips",
        "INSERT INTO trips SELECT * FROM trips",
        "UPDATE trips SET budget = 0",
        "ATTACH '/etc/passwd' AS x",
        "PRAGMA writable_schema = 1",
        "CREATE TEMP VIEW expenses AS SELECT 1",
        "SELECT * FROM users",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    ],
)
def test_sql_that_does_more_than_read_is_refused(pam: MCPServer, query: str) -> None:
    with pytest.raises(ToolError, match="refused"):
        call(pam, "execute_sql", user_id=3, query=query)


def test_a_query_with_an_injection_in_an_argument_finds_nothing(pam: MCPServer) -> None:
    assert call(pam, "search_expenses", user_id=3, text="' OR 1=1 --") == []
    assert call(pam, "list_trips", user_id=3, status="done' OR '1'='1") == []


def test_a_booking_is_pending_for_a_while_and_then_confirmed(pam: MCPServer) -> None:
    seen = [call(pam, "get_booking", user_id=5, booking_id=5)["status"] for _ in range(7)]

    assert seen == ["pending"] * 5 + ["confirmed"] * 2


def test_what_is_written_can_be_read_by_its_owner_only() -> None:
    own = server()
    new = call(own, "add_expense", user_id=4, date="2026-06-30", category="fun", amount=12.5, merchant="Zoo")["id"]

    assert call(own, "get_expense", user_id=4, expense_id=new)["merchant"] == "Zoo"
    assert call(own, "search_expenses", user_id=6, text="zoo") == []
