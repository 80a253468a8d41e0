"""The same records in PostgreSQL: statements as SQLite understands them, and generated tables copied there once."""

import re
import sqlite3
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, LiteralString, cast

import psycopg
from mcp.server.mcpserver.exceptions import ToolError
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from examples.records import Ran

CONNECT_SECONDS = 10
STATEMENT_SECONDS = 30
SEED_SECONDS = 300
LOCK = 0x6578_616D_706C_6573
"""The advisory lock that lets one server at a time generate records; the letters of "examples"."""

FUNCTIONS = """
CREATE FUNCTION round(double precision, integer) RETURNS double precision LANGUAGE sql IMMUTABLE
    AS 'SELECT pg_catalog.round($1::numeric, $2)::double precision';
CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.strpos($1, $2)';
"""
"""What SQLite has and PostgreSQL has not."""

_KEY = re.compile(r"\bid INTEGER PRIMARY KEY\b")
_PARTS = re.compile(r"'(?:[^']|'')*'|:(\w+)|%|\b(?:INTEGER|REAL)\b")
_MEANING = {"%": "%%", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}


class Address:
    """A PostgreSQL address and the schema of an app in it. The password is never shown."""

    def __init__(self, url: str, schema: str) -> None:
        try:
            self.parts: dict[str, Any] = dict(conninfo_to_dict(url))
        except psycopg.Error:
            # Its message may quote the password, so it is not passed on.
            raise ValueError("this is no address that PostgreSQL understands: postgresql://user@host:port/name") from None
        self.schema = schema

    def connect(self, *, seconds: float = STATEMENT_SECONDS, read_only: bool = False) -> psycopg.Connection[dict[str, Any]]:
        """A connection whose every wait has a limit; what is ``read_only`` refuses to change anything.

        Raises:
            psycopg.Error: it cannot be had.
        """
        limit = str(int(seconds * 1000))
        fixed = {"search_path": self.schema, "statement_timeout": limit, "lock_timeout": limit}
        fixed["default_transaction_read_only"] = "on" if read_only else "off"
        options = " ".join([str(self.parts.get("options") or ""), *(f"-c{name}={value}" for name, value in fixed.items())])
        given: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": limit, **self.parts, "options": options}
        connection: psycopg.Connection[dict[str, Any]] = psycopg.Connection[dict[str, Any]].connect(
            autocommit=True, row_factory=dict_row, **given
        )
        connection.adapters.register_loader("numeric", _Number)
        return connection

    def failure(self, error: psycopg.Error) -> ToolError:
        """What a caller may read about a failure: one line, without the password."""
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        password = str(self.parts.get("password") or "")
        return ToolError(f"the database refused or did not answer: {line.replace(password, '***') if password else line}")


class Postgres:
    """A PostgreSQL connection as a database of ``Records``; taken up again after the server was away."""

    def __init__(self, address: Address, *, read_only: bool = False) -> None:
        self.address = address
        self._read_only = read_only
        self._lock = threading.Lock()  # guards the connection, which is replaced when it was lost
        self._connection: psycopg.Connection[dict[str, Any]] | None = None

    def run(self, sql: str, parameters: Mapping[str, Any]) -> Ran:
        """Run one statement; values go beside it, never into it.

        Raises:
            ToolError: the database refused it or is not there.
        """
        with self._lock:
            try:
                if self._connection is None or self._connection.closed:
                    self._connection = self.address.connect(read_only=self._read_only)
                cursor = self._connection.execute(translated(sql), parameters)
                rows = cursor.fetchall() if cursor.description else []
                return Ran(rows=rows, changed=cursor.rowcount)
            except psycopg.Error as error:
                raise self.address.failure(error) from None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()


@lru_cache(maxsize=256)
def translated(sql: str) -> LiteralString:
    """``:name`` as psycopg spells it, and the column types of SQLite as PostgreSQL calls them."""

    def meaning(found: re.Match[str]) -> str:
        return f"%({found[1]})s" if found[1] else _MEANING.get(found[0], found[0].replace("%", "%%"))

    return cast("LiteralString", _PARTS.sub(meaning, sql))


def prepared(address: Address, source: Callable[[], sqlite3.Connection], then: Callable[[Address], None] | None = None) -> None:
    """See that the app's tables are there, generated if need be, and do ``then`` about them.

    Raises:
        ValueError: PostgreSQL is not there, or does not let us.
    """
    try:
        if not _is_there(address):
            copy_once(address, source())
        if then:
            then(address)
    except psycopg.Error as error:
        raise ValueError(str(address.failure(error))) from None


def _is_there(address: Address) -> bool:
    with address.connect() as connection:
        found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (address.schema,)).fetchone()
    return found is not None


def copy_once(address: Address, source: sqlite3.Connection) -> bool:
    """Copy all tables of ``source`` into the app's schema, in one transaction, unless it is there; whether it was copied.

    Raises:
        psycopg.Error: it cannot be done.
    """
    with address.connect(seconds=SEED_SECONDS) as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (address.schema,)).fetchone():
            return False
        connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(address.schema)))
        connection.execute(FUNCTIONS)
        made = source.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type = 'index'")
        for kind, name, sql in made.fetchall():
            connection.execute(_created(sql))
            if kind == "table":
                _copy(connection, name, source)
    return True


def _created(sql: str) -> LiteralString:
    """A ``CREATE`` of ours: numbers go on by themselves, and text is in the order of its letters, as in SQLite."""
    keyed = _KEY.sub("id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", sql)
    return translated(keyed.replace(" TEXT", ' TEXT COLLATE "C"'))


def _copy(connection: psycopg.Connection[Any], table: str, source: sqlite3.Connection) -> None:
    rows = source.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in rows.description]
    columns = SQL(", ").join(map(Identifier, names))
    with connection.cursor().copy(SQL("COPY {} ({}) FROM STDIN").format(Identifier(table), columns)) as copy:
        for row in rows:
            copy.write_row(tuple(row))
    if "id" in names:
        last = SQL("SELECT setval(pg_get_serial_sequence({}, 'id'), max(id)) FROM {}")
        connection.execute(last.format(table, Identifier(table)))
    connection.execute(SQL("ANALYZE {}").format(Identifier(table)))


class _Number(Loader):
    """A sum of integers is an integer, as in SQLite."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)
