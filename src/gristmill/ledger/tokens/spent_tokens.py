"""What executions, calls and searches cost in tokens, kept in the store: sizes and names, never content."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from gristmill.errors import NotFound
from gristmill.ledger.tokens.spent_records import CallRecord, ExecutionRecord, SearchRecord
from gristmill.ledger.tokens.token_advice import History
from gristmill.store.base import Statement, Store

TABLES = (
    """CREATE TABLE IF NOT EXISTS spent_executions (
        execution TEXT PRIMARY KEY, tenant TEXT NOT NULL, session TEXT, caller TEXT NOT NULL, at DOUBLE PRECISION NOT NULL,
        ms DOUBLE PRECISION NOT NULL, status TEXT NOT NULL, code_tokens INTEGER NOT NULL, code_bytes INTEGER NOT NULL,
        returned_tokens INTEGER NOT NULL, returned_bytes INTEGER NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS spent_calls (
        execution TEXT NOT NULL, position INTEGER NOT NULL, tenant TEXT NOT NULL, session TEXT, caller TEXT NOT NULL,
        tool TEXT NOT NULL, at DOUBLE PRECISION NOT NULL, ms DOUBLE PRECISION NOT NULL, status TEXT NOT NULL,
        argument_tokens INTEGER NOT NULL, argument_bytes INTEGER NOT NULL, result_tokens INTEGER NOT NULL,
        result_bytes INTEGER NOT NULL, PRIMARY KEY (execution, position))""",
    """CREATE TABLE IF NOT EXISTS spent_searches (
        at DOUBLE PRECISION NOT NULL, tenant TEXT NOT NULL, session TEXT, caller TEXT NOT NULL, query TEXT NOT NULL,
        found TEXT NOT NULL, query_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, in_code INTEGER NOT NULL)""",
    "CREATE TABLE IF NOT EXISTS spent_definitions (tool TEXT PRIMARY KEY, tokens INTEGER NOT NULL)",
)
_MOST = 100_000
"""Rows of each kind that one account is made from, the newest."""


class Spent:
    """Writes down what was spent, and reads it back as one history."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(
        self, *, tenant: str, execution: ExecutionRecord | None = None, calls: Sequence[CallRecord] = (),
        search: SearchRecord | None = None,
    ) -> None:  # fmt: skip
        """Keep it, soon."""
        statements: list[Statement] = [_call(tenant, call) for call in calls]
        if execution is not None:
            statements.append(_execution(tenant, execution))
        if search is not None:
            statements.append(_search(tenant, search))
        if statements:
            self._store.write_later(*statements)

    def defined(self, tokens: Mapping[str, int]) -> None:
        """Keep what the definitions of all tools cost now, in place of what they cost before."""
        rows: list[Statement] = [("DELETE FROM spent_definitions", ())]
        rows += [("INSERT INTO spent_definitions (tool, tokens) VALUES (?, ?)", (tool, count)) for tool, count in tokens.items()]
        self._store.write_soon(*rows)

    async def history(self, *, tenant: str, session: str | None = None, since: float = 0.0) -> History:
        """Everything of a tenant, or of one of its sessions, since then; the oldest first."""
        values: list[Any] = [tenant, since]
        where = "tenant = ? AND at >= ?"
        if session is not None:
            where, values = f"{where} AND session = ?", [*values, session]
        executions = await self._read("spent_executions", _EXECUTION, where, values)
        calls = await self._read("spent_calls", _CALL, where, values)
        searches = await self._read("spent_searches", _SEARCH, where, values)
        return await self._history(executions, calls, searches)

    async def of_execution(self, execution: str, *, tenant: str) -> History:
        """One execution, its calls, and the searches that its caller made for it: those since the execution before.

        Raises:
            NotFound: nothing is kept of it.
        """
        one: list[Any] = [tenant, execution]
        executions = await self._read("spent_executions", _EXECUTION, "tenant = ? AND execution = ?", one)
        if not executions:
            raise NotFound(f"no execution {execution[:80]!r} is in the token accounts")
        caller, at = executions[0]["caller"], executions[0]["at"]
        earlier = "SELECT MAX(at) FROM spent_executions WHERE tenant = ? AND caller = ? AND at < ?"
        before = (await self._store.read(earlier, tenant, caller, at))[0][0] or 0.0
        ended = at + executions[0]["ms"] / 1000
        calls = await self._read("spent_calls", _CALL, "tenant = ? AND execution = ?", one)
        between = "tenant = ? AND caller = ? AND at > ? AND at <= ?"
        return await self._history(
            executions, calls, await self._read("spent_searches", _SEARCH, between, [tenant, caller, before, ended])
        )

    async def _history(
        self, executions: list[dict[str, Any]], calls: list[dict[str, Any]], searches: list[dict[str, Any]]
    ) -> History:
        definitions = await self._store.read("SELECT tool, tokens FROM spent_definitions")
        return History(
            executions=[ExecutionRecord(**row) for row in executions],
            calls=[CallRecord(server=row["tool"].partition(".")[0], **row) for row in calls],
            searches=[_read_search(row) for row in searches],
            definitions=dict(cast("list[tuple[str, int]]", definitions)),
        )

    async def _read(self, table: str, columns: tuple[str, ...], where: str, values: Sequence[Any]) -> list[dict[str, Any]]:
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE {where} ORDER BY at DESC LIMIT {_MOST}"  # noqa: S608 - our own words
        rows = await self._store.read(sql, *values)
        return [dict(zip(columns, row, strict=True)) for row in reversed(rows)]


_EXECUTION = (
    "execution", "session", "caller", "at", "ms", "status", "code_tokens", "code_bytes", "returned_tokens", "returned_bytes"
)  # fmt: skip
_CALL = (
    "execution", "position", "session", "caller", "tool", "at", "ms", "status", "argument_tokens", "argument_bytes",
    "result_tokens", "result_bytes",
)  # fmt: skip
_SEARCH = ("at", "session", "caller", "query", "found", "query_tokens", "answer_tokens", "in_code")


def forget_spent(before: float) -> tuple[Statement, ...]:
    """What is deleted when the records of that time are."""
    tables = ("spent_executions", "spent_calls", "spent_searches")
    return tuple((f"DELETE FROM {table} WHERE at < ?", (before,)) for table in tables)  # noqa: S608 - our own words


def _insert(table: str, columns: tuple[str, ...], tenant: str, record: Any) -> Statement:
    marks = ", ".join("?" * (len(columns) + 1))
    sql = f"INSERT INTO {table} (tenant, {', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own words
    return sql, (tenant, *(getattr(record, column) for column in columns))


def _execution(tenant: str, record: ExecutionRecord) -> Statement:
    sql, values = _insert("spent_executions", _EXECUTION, tenant, record)
    return f"{sql} ON CONFLICT (execution) DO NOTHING", values


def _call(tenant: str, record: CallRecord) -> Statement:
    sql, values = _insert("spent_calls", _CALL, tenant, record)
    return f"{sql} ON CONFLICT (execution, position) DO NOTHING", values


def _search(tenant: str, record: SearchRecord) -> Statement:
    sql, values = _insert("spent_searches", _SEARCH, tenant, record)
    place = 1 + _SEARCH.index("found")
    return sql, (*values[:place], " ".join(record.found), *values[place + 1 : -1], int(record.in_code))


def _read_search(row: dict[str, Any]) -> SearchRecord:
    found, in_code = row.pop("found"), row.pop("in_code")
    return SearchRecord(found=tuple(found.split()), in_code=bool(in_code), **row)
