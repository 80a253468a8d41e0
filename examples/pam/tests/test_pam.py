"""Every row belongs to somebody, and nobody reads or changes another's: on SQLite and on PostgreSQL."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from examples.pam.__main__ import server, server_over
from examples.pam.seed import build
from examples.pam.stored import open_postgres
from examples.pam.tests.conftest import call


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


def test_a_query_with_an_injection_in_an_argument_finds_nothing(pam: MCPServer) -> None:
    assert call(pam, "search_expenses", user_id=3, text="' OR 1=1 --") == []
    assert call(pam, "list_trips", user_id=3, status="done' OR '1'='1") == []
    assert call(pam, "search_expenses", user_id=3, text="%s %(user)s :user") == []


def test_a_booking_is_pending_for_a_while_and_then_confirmed(pam: MCPServer) -> None:
    seen = [call(pam, "get_booking", user_id=5, booking_id=5)["status"] for _ in range(7)]

    assert seen == ["pending"] * 5 + ["confirmed"] * 2


def test_what_is_written_can_be_read_by_its_owner_only(pam: MCPServer) -> None:
    new = call(pam, "add_expense", user_id=4, date="2026-06-30", category="fun", amount=12.5, merchant="Zoo")["id"]

    assert call(pam, "get_expense", user_id=4, expense_id=new)["merchant"] == "Zoo"
    assert call(pam, "search_expenses", user_id=6, text="zoo") == []


# The order matters where one call needs what another wrote; numbers of new rows are the same on both.
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_expenses", {"start_date": "2025-03-01", "end_date": "2025-06-30", "category": "fuel"}),
    ("get_expense", {"expense_id": 4417}),
    ("search_expenses", {"text": "safeWAY", "limit": 20}),
    ("sum_expenses_by_category", {"start_date": "2025-01-01"}),
    ("find_duplicate_expenses", {}),
    ("get_budgets", {}),
    ("set_budget", {"category": "fuel", "monthly": 321.5}),
    ("set_budget", {"category": "toys", "monthly": 9}),
    ("get_budgets", {}),
    ("add_expense", {"date": "2026-06-30", "category": "fun", "amount": 12.34, "merchant": "Zoo"}),
    ("add_expense", {"date": "2026-06-30", "category": "fun", "amount": 1, "merchant": "Zoo", "trip_id": 119}),
    ("update_expense", {"expense_id": 14685, "amount": 56.78}),
    ("update_expense", {"expense_id": 14686, "category": "food"}),
    ("search_expenses", {"text": "zoo"}),
    ("delete_expense", {"expense_id": 14686}),
    ("list_trips", {}),
    ("list_trips", {"status": "done"}),
    ("get_trip", {"trip_id": 119}),
    ("list_stops", {"trip_id": 119}),
    ("get_trip_cost", {"trip_id": 119}),
    ("get_route", {"trip_id": 119}),
    ("estimate_drive", {"from_park_id": 1, "to_park_id": 2}),
    ("plan_trip", {"states": ["UT", "CO"], "pets": True}),
    ("create_trip", {"name": "x", "start_date": "2026-08-01", "end_date": "2026-08-09", "budget": 500}),
    ("add_stop", {"trip_id": 119, "park_id": 3, "arrive": "2026-08-01", "nights": 3}),
    ("list_stops", {"trip_id": 119}),
    ("remove_stop", {"stop_id": 1}),
    ("cancel_trip", {"trip_id": 119}),
    ("find_parks", {"state": "UT", "hookups": "full", "pets": True, "max_rate": 70}),
    ("find_parks", {"limit": 400}),
    ("get_park", {"park_id": 9}),
    ("compare_parks", {"park_ids": [9, 8, 7]}),
    ("list_park_reviews", {"park_id": 9}),
    ("add_park_review", {"park_id": 9, "stars": 5, "text": "naïve ☃", "date": "2026-06-30"}),
    ("list_park_reviews", {"park_id": 9}),
    ("check_availability", {"park_id": 9, "arrive": "2026-07-01"}),
    ("list_favorite_parks", {}),
    ("add_favorite_park", {"park_id": 9}),
    ("add_favorite_park", {"park_id": 9}),
    ("list_favorite_parks", {}),
    ("book_park", {"park_id": 9, "arrive": "2026-07-01", "nights": 2}),
    ("list_bookings", {}),
    ("get_booking", {"booking_id": 7}),
    ("cancel_booking", {"booking_id": 7}),
    ("list_vehicles", {}),
    ("get_fuel_log", {"start_date": "2026-01-01"}),
    ("get_fuel_log", {"vehicle_id": 10}),
    ("get_mileage", {"vehicle_id": 10}),
    ("add_fuel_stop", {"vehicle_id": 10, "date": "2026-06-30", "station_id": 1, "gallons": 9.5, "price": 4, "odometer": 99_999}),
    ("find_fuel_stations", {"lat": 39.3, "lon": -111.7, "rv_lanes": True}),
    ("get_fuel_prices", {}),
    ("get_fuel_prices", {"state": "UT"}),
    ("estimate_fuel_cost", {"vehicle_id": 10, "distance_miles": 100}),
    ("get_calendar", {"start_date": "2026-06-01", "end_date": "2026-07-30"}),
    ("find_free_days", {"start_date": "2026-07-01", "end_date": "2026-09-30"}),
    ("add_event", {"title": "x", "start_date": "2026-07-01", "end_date": "2026-07-02"}),
    ("delete_event", {"event_id": 1201}),
    ("get_profile", {}),
    ("list_cards", {}),
    ("execute_sql", {"query": "SELECT category, count(*) AS n FROM expenses GROUP BY category ORDER BY 2 DESC, 1"}),
]


def test_every_tool_answers_the_same_on_both_databases(new_database: Callable[[], str]) -> None:
    stored = open_postgres(new_database())
    sqlite, postgres = server(), server_over(stored)
    takes_user = {tool.name for tool in anyio.run(sqlite.list_tools) if "user_id" in tool.input_schema["properties"]}

    def answers(pam: MCPServer) -> list[Any]:
        found: list[Any] = []
        for tool, arguments in CALLS:
            try:
                found.append([tool, call(pam, tool, **({"user_id": 7} if tool in takes_user else {}), **arguments)])
            except ToolError as error:
                found.append([tool, str(error)])
        return found

    with closing(stored.records.database):
        ours, theirs = answers(sqlite), answers(postgres)

    assert ours == theirs
    assert {tool for tool, _ in CALLS} == {tool.name for tool in anyio.run(sqlite.list_tools)}
    failed = [tool for tool, answer in ours if isinstance(answer, str)]
    assert failed == ["remove_stop", "cancel_trip"], "which are somebody else's, and over"


def test_a_postgres_that_is_not_there_ends_the_start_without_its_password() -> None:
    with pytest.raises(ValueError, match="did not answer") as raised:
        open_postgres("postgresql://mill:sesame@127.0.0.1:1/none")

    assert "sesame" not in str(raised.value)
