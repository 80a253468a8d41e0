"""The store for several machines: PostgreSQL by its address, through psycopg 3. SQL means what it means in SQLite."""

import re
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
"""How long another process may write before we say so."""
STATEMENT_SECONDS = 30
TIMEOUTS = {
    "statement_timeout": STATEMENT_SECONDS,
    "lock_timeout": LOCK_SECONDS,
    # A process that was stopped while it held the writer's lock must not stop all others.
    "idle_in_transaction_session_timeout": STATEMENT_SECONDS,
}
WRITER_LOCK = 0x6772_6973_746D_696C
"""The advisory lock that makes a connection the one writer; the letters of our name."""

_PARTS = re.compile(r"'(?:[^']|'')*'|\?|%|\b(?:BLOB|INTEGER|REAL)\b", re.IGNORECASE)
_MEANING = {"?": "%s", "%": "%%", "BLOB": "BYTEA", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}


class Postgres(Driver):
    """The driver of one address. The password in it is never shown."""

    failures = (psycopg.Error,)

    def __init__(self, url: str) -> None:
        try:
            self._parts = conninfo_to_dict(url)
        except psycopg.Error:
            # Its message may quote the password, so it is not passed on.
            raise ConfigError("store.url is no address that PostgreSQL understands: postgresql://user@host:port/name") from None

    def connect(self) -> psycopg.Connection[Any]:
        """Connect; every wait of the connection has a limit."""
        given: dict[str, Any] = {**self._parts, "connect_timeout": CONNECT_SECONDS}
        connection = psycopg.connect(autocommit=True, tcp_user_timeout=STATEMENT_SECONDS * 1000, **given)
        connection.adapters.register_loader("numeric", _Number)
        connection.adapters.register_loader("bool", _Claim)
        connection.adapters.register_dumper(bool, IntDumper)
        for setting, seconds in TIMEOUTS.items():
            connection.execute("SELECT set_config(%s, %s, false)", (setting, f"{seconds}s"))
        return connection

    def begin(self) -> tuple[str, ...]:
        """One writer at a time, among all processes that use this database."""
        return ("BEGIN", f"SELECT pg_advisory_xact_lock({WRITER_LOCK})")

    def ping(self) -> tuple[str, ...]:
        """A server that was restarted is noticed here, not by whoever reads next."""
        return ("SELECT 1",)

    def translate(self, sql: str) -> str:
        """``?`` as psycopg spells it, and the column types of SQLite as PostgreSQL calls them."""
        return _translated(sql)

    def is_lost(self, connection: Any, error: Exception) -> bool:
        """Whether it was the connection that failed, not the statement."""
        return bool(connection.closed) or isinstance(error, psycopg.InterfaceError)

    def reason(self, error: Exception) -> str:
        """One line without the password."""
        line = super().reason(error)
        password = str(self._parts.get("password") or "")
        return line.replace(password, "***") if password else line


class _Number(Loader):
    """A sum of integers is an integer, as in SQLite."""

    def load(self, data: Any) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


class _Claim(Loader):
    """True is 1, as in SQLite."""

    def load(self, data: Any) -> int:
        return int(bytes(data) == b"t")


@lru_cache(maxsize=1024)
def _translated(sql: str) -> str:
    return _PARTS.sub(lambda found: _MEANING.get(found[0].upper(), found[0].replace("%", "%%")), sql)
