"""``execute_sql`` on PostgreSQL: the query runs as a role of the user's own, and row-level security shows it that user's rows.

Whose rows they are is decided by ``session_user``, the role that logged in. A setting would not do: any ``SELECT`` may change
settings with ``set_config``, the role in force among them; who logged in, it cannot change.
"""

import hashlib
import hmac
from typing import Any

import psycopg
from mcp.server.mcpserver.exceptions import ToolError
from psycopg.conninfo import make_conninfo
from psycopg.pq import ExecStatus
from psycopg.rows import tuple_row
from psycopg.sql import SQL, Composed, Identifier, Literal

from examples.pam.rows import Answer
from examples.pam.sql import MOST_ROWS, OWNED, SHARED
from examples.postgres import LOCK, Address
from examples.serving import reads

SECONDS = 2.0
ROW_BYTES = 100_000

GUARDS = SQL("""
CREATE FUNCTION whose() RETURNS bigint LANGUAGE sql STABLE
    AS $$ SELECT nullif(substring(session_user::text FROM '_([0-9]+)$'), '')::bigint $$;
CREATE FUNCTION fits(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    IF octet_length($1) > {bytes} THEN RAISE EXCEPTION 'a row is longer than {bytes} bytes'; END IF;
    RETURN true;
END $$;
""").format(bytes=Literal(ROW_BYTES))


class PostgresSql:
    """The tool for questions that no other tool answers."""

    def __init__(self, address: Address) -> None:
        if not address.parts.get("password"):
            # The passwords of the users' roles are made from it, the same in every process that has the address.
            raise ValueError("PAM_DATABASE_URL needs a password: execute_sql logs in as a role of the user's own")
        self._address = address
        self._roles: dict[int, Address] = {}

    @reads
    def execute_sql(self, user_id: int, query: str) -> Answer:
        """Run a read-only PostgreSQL query over a user's own rows. Dates are text. Tables: vehicles, events, bookings, budgets,
        favorites, parks, expenses(id, trip_id, date, category, amount, merchant), stations(id, name, state, diesel, regular),
        trips(id, name, start_date, end_date, status, budget), stops(id, trip_id, park_id, arrive, nights, cost),
        fuel(id, vehicle_id, date, station_id, gallons, price, odometer). At most 1,000 rows.
        """
        try:
            columns, rows = self._ask(self._of(user_id), query)
        except psycopg.Error as error:
            raise ToolError(f"the query was refused: {str(error).splitlines()[0]}") from None
        plain = [[value if isinstance(value, int | float | str | None) else str(value) for value in row] for row in rows]
        return {"columns": columns, "rows": plain[:MOST_ROWS], "truncated": len(rows) > MOST_ROWS}

    def _ask(self, address: Address, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        # A cursor takes one statement that reads, and gives no more rows than are asked for. The line breaks end comments.
        whole = f"SELECT * FROM (\n{query.strip().rstrip(';')}\n) AS answer WHERE fits(answer::text)"
        with address.connect(seconds=SECONDS, read_only=True) as connection:
            _parse(connection, query)
            connection.autocommit = False
            with connection.cursor("answer", row_factory=tuple_row) as cursor:
                cursor.execute(whole.encode())
                found = cursor.fetchmany(MOST_ROWS + 1), [column.name for column in cursor.description or ()]
            connection.rollback()  # nothing that a function did is kept
        return found[1], found[0]

    def _of(self, user: int) -> Address:
        """The address of a user's role, made when it is needed first."""
        if user not in self._roles:
            role = f"{readers(self._address)}_{int(user)}"
            secret = hmac.new(str(self._address.parts["password"]).encode(), role.encode(), hashlib.sha256).hexdigest()
            with self._address.connect() as connection:
                _make_role(connection, role, secret, readers(self._address))
            own = make_conninfo(**{**self._address.parts, "user": role, "password": secret})
            self._roles[user] = Address(own, self._address.schema)
        return self._roles[user]


def readers(address: Address) -> str:
    """The name of the role that all users' roles belong to; roles are for all databases of a server, so it names ours."""
    place = f"{address.parts.get('dbname')}.{address.schema}"
    return f"pam_{hashlib.sha256(place.encode()).hexdigest()[:8]}"


def guard_rows(address: Address) -> None:
    """Let the users' roles read the tables of ``execute_sql``, and of owned tables their own rows only; once for all servers.

    Raises:
        psycopg.Error: the address may not make roles.
    """
    group = Identifier(readers(address))
    with address.connect() as connection, connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if connection.execute("SELECT to_regproc('whose') AS found").fetchone() != {"found": None}:
            return
        if not _exists(connection, readers(address)):
            connection.execute(SQL("CREATE ROLE {} NOLOGIN").format(group))
        connection.execute(GUARDS)
        connection.execute(SQL("GRANT USAGE ON SCHEMA {} TO {}").format(Identifier(address.schema), group))
        for table in (*OWNED, *SHARED):
            connection.execute(SQL("GRANT SELECT ON {} TO {}").format(Identifier(table), group))
        for table in OWNED:
            connection.execute(_policy(Identifier(table), group))


def _policy(table: Identifier, group: Identifier) -> Composed:
    return SQL(
        "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; "
        "CREATE POLICY own ON {table} FOR SELECT TO {group} USING (user_id = (SELECT whose()))"
    ).format(table=table, group=group)


def _make_role(connection: psycopg.Connection[Any], role: str, secret: str, group: str) -> None:
    # Sent as a verifier, so that no log of the server has the password.
    verifier = connection.pgconn.encrypt_password(secret.encode(), role.encode(), b"scram-sha-256").decode()
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if not _exists(connection, role):
            connection.execute(SQL("CREATE ROLE {} LOGIN IN ROLE {}").format(Identifier(role), Identifier(group)))
        connection.execute(SQL("ALTER ROLE {} PASSWORD {}").format(Identifier(role), Literal(verifier)))


def _exists(connection: psycopg.Connection[Any], role: str) -> bool:
    return connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone() is not None


def _parse(connection: psycopg.Connection[Any], query: str) -> None:
    """Whether the query is one whole statement by itself: it must not close the parenthesis that is put around it."""
    parsed = connection.pgconn.prepare(b"", query.encode())
    if parsed.status != ExecStatus.COMMAND_OK:
        raise psycopg.errors.SyntaxError(parsed.error_message.decode(errors="replace").strip())
