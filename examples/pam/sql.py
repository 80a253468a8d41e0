"""``execute_sql``: a query over one user's rows, and nothing else.

Views that filter by owner are not enough: a common table expression that bears a view's name looks to SQLite's authorizer
like the view and may read the table below it. So the query runs in a database of its own that holds only rows of this user.
"""

import sqlite3
import time
from collections.abc import Iterable
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from examples.pam.rows import Answer
from examples.records import Records
from examples.serving import reads

OWNED = ("expenses", "trips", "stops", "bookings", "budgets", "fuel", "vehicles", "events", "favorites")
SHARED = ("parks", "stations")
MOST_ROWS = 1_000
SECONDS = 2.0

_HARMLESS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_REFUSED_FUNCTIONS = {"load_extension", "randomblob", "zeroblob"}


class Sql:
    """The tool for questions that no other tool answers."""

    def __init__(self, records: Records) -> None:
        self._records = records

    @reads
    def execute_sql(self, user_id: int, query: str) -> Answer:
        """Run a read-only SQLite query over a user's own rows. Tables: expenses(id, trip_id, date, category, amount, merchant),
        trips(id, name, start_date, end_date, status, budget), stops(id, trip_id, park_id, arrive, nights, cost),
        fuel(id, vehicle_id, date, station_id, gallons, price, odometer), vehicles, events, bookings, budgets, favorites, parks,
        stations(id, name, state, diesel, regular). At most 1,000 rows.
        """
        own = sqlite3.connect(":memory:")
        try:
            self._fill(own, user_id)
            _lock(own)
            cursor = own.execute(query)
            rows = cursor.fetchmany(MOST_ROWS + 1)
            columns = [column[0] for column in cursor.description or ()]
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise ToolError(f"the query was refused: {error}") from None
        finally:
            own.close()
        return {"columns": columns, "rows": [list(row) for row in rows[:MOST_ROWS]], "truncated": len(rows) > MOST_ROWS}

    def _fill(self, own: sqlite3.Connection, user: int) -> None:
        kind = dict[str, Any]
        for table in OWNED:
            rows = self._records.rows(kind, f"SELECT * FROM {table} WHERE user_id = :user", user=user)
            _copy(own, table, rows, self._columns(table))
        for table in SHARED:
            _copy(own, table, self._records.rows(kind, f"SELECT * FROM {table}"), self._columns(table))

    def _columns(self, table: str) -> list[str]:
        found = self._records.rows(dict[str, str], "SELECT name FROM pragma_table_info(:table)", table=table)
        return [row["name"] for row in found]


def _copy(own: sqlite3.Connection, table: str, rows: Iterable[dict[str, Any]], columns: list[str]) -> None:
    own.execute(f"CREATE TABLE {table} ({', '.join(columns)})")
    marks = ", ".join("?" * len(columns))
    own.executemany(f"INSERT INTO {table} VALUES ({marks})", ([row[name] for name in columns] for row in rows))


def _lock(own: sqlite3.Connection) -> None:
    """From here on: reading only, for a while only. Attaching files, pragmas and extensions are refused with the rest."""
    own.commit()
    end = time.monotonic() + SECONDS
    own.set_progress_handler(lambda: int(time.monotonic() > end), 10_000)
    own.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)

    def decide(action: int, _first: str | None, second: str | None, _database: str | None, _view: str | None) -> int:
        if action == sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_DENY if second in _REFUSED_FUNCTIONS else sqlite3.SQLITE_OK
        return sqlite3.SQLITE_OK if action in _HARMLESS else sqlite3.SQLITE_DENY

    own.set_authorizer(decide)
