"""The store for several machines: PostgreSQL, through psycopg 3. SQL behaves as it does in SQLite."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import IntDumper

from gristmill.errors import ConfigError
from gristmill.store.driver import Driver

CONNECT_SECONDS = 10
LOCK_SECONDS = 10
"""How long we wait for another process that writes before we report an error."""
STATEMENT_SECONDS = 30
TIMEOUTS = {
    "statement_timeout": STATEMENT_SECONDS,
    "lock_timeout": LOCK_SECONDS,
    # A process that is stopped while it holds the writer's lock must not block all others.
    "idle_in_transaction_session_timeout": STATEMENT_SECONDS,
}
MIGRATE_SECONDS = 600
"""How long one statement of a migration may take, and how long we wait for another process that migrates."""
WRITER_LOCK = 0x6772_6973_746D_696C
"""The advisory lock that makes a connection the only writer: the first letters of our name in ASCII."""

_TRANSLATED_PARTS = re.compile(r"'(?:[^']|'')*'|\?|%|\b(?:BLOB|INTEGER|REAL)\b", re.IGNORECASE)
_TRANSLATIONS = {"?": "%s", "%": "%%", "BLOB": "BYTEA", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}


class Postgres(Driver):
    """The driver for one address. The password in the address is never shown."""

    name = "PostgreSQL"
    failures = (psycopg.Error,)
    tables_query = """SELECT tables.relname, columns.attname FROM pg_class AS tables
        JOIN pg_attribute AS columns ON columns.attrelid = tables.oid
        WHERE tables.relkind IN ('r', 'p') AND tables.relnamespace <> 'pg_catalog'::regnamespace
        AND pg_table_is_visible(tables.oid) AND columns.attnum > 0 AND NOT columns.attisdropped"""

    def __init__(self, url: str) -> None:
        try:
            self._parts = conninfo_to_dict(url)
        except psycopg.Error:
            # Its message may quote the password, so it is not passed on.
            raise ConfigError("store.url is not a PostgreSQL address; write it as postgresql://user@host:port/name") from None

    def connect(self) -> psycopg.Connection[Any]:
        """Connects; every wait on the connection has a limit."""
        given: dict[str, Any] = {**self._parts, "connect_timeout": CONNECT_SECONDS}
        connection = psycopg.connect(autocommit=True, tcp_user_timeout=STATEMENT_SECONDS * 1000, **given)
        connection.adapters.register_loader("numeric", _NumberLoader)
        connection.adapters.register_loader("bool", _BooleanLoader)
        connection.adapters.register_dumper(bool, IntDumper)
        _set_timeouts(connection, TIMEOUTS)
        return connection

    def connect_to_migrate(self) -> psycopg.Connection[Any]:
        """Connects for changes to the schema, which may take longer than other statements."""
        connection = self.connect()
        _set_timeouts(connection, {"statement_timeout": MIGRATE_SECONDS, "lock_timeout": MIGRATE_SECONDS})
        return connection

    def keep_copy(self, number: int) -> str:  # noqa: ARG002 - a dump has the name that its maker gives it
        """Keeps no copy: returns a sentence that says so."""
        return "no copy is kept here; a dump made before the upgrade (pg_dump) is the operator's"

    def begin_statements(self) -> tuple[str, ...]:
        """Returns the statements that begin a transaction as the only writer among all processes that use this database."""
        return ("BEGIN", f"SELECT pg_advisory_xact_lock({WRITER_LOCK})")

    def ping_statements(self) -> tuple[str, ...]:
        """Returns a query that fails after a restart of the server, so that the connection is replaced before the read."""
        return ("SELECT 1",)

    def translate(self, sql: str) -> str:
        """Returns ``sql`` with psycopg's placeholders, and with PostgreSQL's names for the column types of SQLite."""
        return _translate_sql(sql)

    def is_lost(self, connection: Any, error: Exception) -> bool:
        """Whether the connection failed, rather than the statement."""
        return bool(connection.closed) or isinstance(error, psycopg.InterfaceError)

    def describe_error(self, error: Exception) -> str:
        """Returns one line that describes ``error``, without the password."""
        line = super().describe_error(error)
        password = str(self._parts.get("password") or "")
        return line.replace(password, "***") if password else line


def _set_timeouts(connection: psycopg.Connection[Any], seconds_by_setting: Mapping[str, int]) -> None:
    for setting, seconds in seconds_by_setting.items():
        connection.execute("SELECT set_config(%s, %s, false)", (setting, f"{seconds}s"))


class _NumberLoader(Loader):
    """Loads a sum of integers as an integer, as SQLite does."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


class _BooleanLoader(Loader):
    """Loads true as 1, as SQLite does."""

    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


@lru_cache(maxsize=1024)
def _translate_sql(sql: str) -> str:
    return _TRANSLATED_PARTS.sub(lambda found: _TRANSLATIONS.get(found[0].upper(), found[0].replace("%", "%%")), sql)
