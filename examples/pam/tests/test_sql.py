"""``execute_sql`` reads one user's rows whatever the query tries, on both databases."""

from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from psycopg.conninfo import make_conninfo

from examples.pam import sql, sql_postgres
from examples.pam.__main__ import server_over
from examples.pam.sql import OWNED
from examples.pam.stored import Stored, open_postgres
from examples.pam.tests.conftest import call
from examples.postgres import Postgres


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Queries without an end are ended sooner than in earnest."""
    monkeypatch.setattr(sql, "SECONDS", 0.7)
    monkeypatch.setattr(sql_postgres, "SECONDS", 0.7)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(DISTINCT user_id) AS n FROM expenses",
        "SELECT count(DISTINCT user_id) FROM expenses WHERE user_id = 3 OR 1 = 1 -- AND user_id = 3",
        "SELECT /* user_id = 3 */ count(DISTINCT user_id) FROM expenses;",
        "SELECT count(*) FROM (SELECT user_id FROM trips UNION SELECT user_id FROM events UNION SELECT user_id FROM fuel) AS u",
        "WITH mine AS (SELECT * FROM expenses) SELECT count(DISTINCT user_id) FROM mine",
        "SELECT count(DISTINCT a.user_id) FROM expenses a LEFT JOIN trips b ON b.user_id <> a.user_id",
        # Would divide by zero if it were ever shown a row of user 8.
        "SELECT count(DISTINCT user_id) FROM bookings WHERE 1 / (user_id - 8) < 9",
    ],
)
def test_sql_sees_one_users_rows_whatever_it_says(pam: MCPServer, query: str) -> None:
    assert call(pam, "execute_sql", user_id=3, query=query)["rows"] == [[1]]


@pytest.mark.parametrize("table", OWNED)
def test_every_owned_table_holds_others_rows_that_sql_does_not_show(pam: MCPServer, in_postgres: Stored, table: str) -> None:
    owners = in_postgres.records.one(dict[str, int], f"SELECT count(DISTINCT user_id) AS n FROM {table}")["n"]

    assert owners == 20
    query = f"SELECT user_id, count(*) > 0 AS some FROM {table} GROUP BY user_id"
    assert call(pam, "execute_sql", user_id=3, query=query)["rows"] == [[3, 1]]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM trips",
        "INSERT INTO trips SELECT * FROM trips",
        "UPDATE trips SET budget = 0",
        "WITH gone AS (DELETE FROM trips RETURNING *) SELECT * FROM gone",
        "ATTACH '/etc/passwd' AS x",
        "PRAGMA writable_schema = 1",
        "PRAGMA database_list",
        "CREATE TEMP VIEW expenses AS SELECT 1",
        "CREATE TEMP TABLE expenses (n INTEGER)",
        "DROP TABLE trips",
        "VACUUM INTO '/tmp/pam-stolen'",
        "SELECT * FROM users",
        "SELECT email FROM users UNION SELECT note FROM expenses",
        "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT 1; SELECT 2",
        "SELECT 1; DELETE FROM trips",
        "SELECT 1) AS one, (SELECT 2",
        "SET ROLE mill",
        "RESET ROLE",
        "COPY trips TO '/tmp/pam-stolen'",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t",
    ],
)
def test_sql_that_does_more_than_read_is_refused(pam: MCPServer, query: str) -> None:
    with pytest.raises(ToolError, match="refused"):
        call(pam, "execute_sql", user_id=3, query=query)

    assert call(pam, "list_trips", user_id=3)


BY_FUNCTION = "query_to_xml('SELECT count(DISTINCT user_id) AS n FROM pam.expenses', true, true, '')"
"""A function that runs a query of its own, after what stands before it."""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT set_config('role', 'mill', false)",
        "SELECT set_config('session_authorization', 'mill', false)",
        "SELECT set_config('transaction_read_only', 'off', false)",
        f"SELECT set_config('role', 'mill', true), {BY_FUNCTION}",
        f"SELECT set_config('row_security', 'off', true), {BY_FUNCTION}",
        "SELECT query_to_xml('SELECT * FROM pam.users', true, true, '')",
        "SELECT query_to_xml('UPDATE pam.trips SET budget = 0', true, true, '')",
        "SELECT query_to_xml('SET ROLE mill', true, true, '')",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_ls_dir('/')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT rolpassword FROM pg_authid",
        "SELECT dblink('dbname=postgres', 'SELECT 1')",
        "SELECT setval('pam.trips_id_seq', 1)",
        "SELECT * FROM trips FOR UPDATE",
        "SELECT pg_sleep(60)",
        "SELECT repeat('x', 200000)",
        "SELECT repeat('x', 200000)) AS big, (SELECT 1",
        "DO $$ BEGIN PERFORM 1; END $$",
        "SHOW ALL",
        "SELECT 1 /*",
        "",
        "TABLE users",
    ],
)
def test_functions_and_statements_of_postgres_open_nothing(on_postgres: MCPServer, query: str) -> None:
    with pytest.raises(ToolError, match="refused"):
        call(on_postgres, "execute_sql", user_id=3, query=query)


@pytest.mark.parametrize(
    "before",
    [
        "set_config('role', 'none', true)",
        "set_config('pam.user_id', '8', true)",
        "set_config('search_path', 'public', true)",
        "set_config('session_authorization', session_user::text, true)",
    ],
)
def test_no_setting_that_a_query_may_change_shows_more_rows(on_postgres: MCPServer, before: str) -> None:
    found = call(on_postgres, "execute_sql", user_id=3, query=f"SELECT {before}, {BY_FUNCTION}::text")["rows"]

    assert "<n>1</n>" in found[0][1]


def test_a_query_as_the_owner_of_the_tables_would_see_everybody(in_postgres: Stored) -> None:
    (row,) = in_postgres.records.rows(dict[str, str], f"SELECT CAST({BY_FUNCTION} AS TEXT) AS found")

    assert "<n>20</n>" in row["found"]


def test_statistics_of_the_server_tell_nothing_of_others_rows(in_postgres: Stored, on_postgres: MCPServer) -> None:
    query = "SELECT count(*) AS n FROM pg_stats WHERE schemaname = 'pam' AND tablename = 'expenses'"

    assert in_postgres.records.one(dict[str, int], query)["n"] > 0
    assert call(on_postgres, "execute_sql", user_id=3, query=query)["rows"] == [[0]]


def test_at_most_a_thousand_rows_come_back(pam: MCPServer) -> None:
    found = call(pam, "execute_sql", user_id=3, query="SELECT a.id FROM parks a CROSS JOIN parks b")

    assert (len(found["rows"]), found["truncated"]) == (1_000, True)


def test_a_second_server_on_the_same_database_finds_all_ready(new_database: Callable[[], str]) -> None:
    url, query = new_database(), "SELECT count(*) AS n FROM parks"
    for _ in range(2):
        stored = open_postgres(url)
        with closing(stored.records.database):
            assert call(server_over(stored), "execute_sql", user_id=3, query=query)["rows"] == [[400]]


def test_a_role_may_not_be_taken_by_guessing_its_password(in_postgres: Stored, on_postgres: MCPServer) -> None:
    call(on_postgres, "execute_sql", user_id=8, query="SELECT 1")
    database = in_postgres.records.database
    assert isinstance(database, Postgres)
    (role,) = in_postgres.records.rows(dict[str, str], "SELECT rolname FROM pg_roles WHERE rolname LIKE 'pam!_%!_8' ESCAPE '!'")

    for password in ("", role["rolname"], "pam"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(make_conninfo(**{**database.address.parts, "user": role["rolname"], "password": password}))


def test_an_address_without_a_password_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a password"):
        open_postgres("postgresql://mill@127.0.0.1:1/none")
