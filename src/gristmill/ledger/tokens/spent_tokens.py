"""Stores what executions, calls and searches cost in tokens: sizes and names, never content."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from gristmill.errors import NotFound
from gristmill.ledger.tokens.savings import compute_saved
from gristmill.ledger.tokens.spent_records import SpentCall, SpentExecution, SpentSearch, name_conversation
from gristmill.ledger.tokens.token_advice import UsageHistory
from gristmill.store.base import Statement, Store

_MOST_ROWS = 100_000
"""Most rows of each kind that one account is made from; the newest are taken."""


class SpentTokens:
    """Stores what was spent, and reads it back as one history."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def store_spent(
        self, *, tenant: str, execution: SpentExecution | None = None, calls: Sequence[SpentCall] = (),
        search: SpentSearch | None = None,
    ) -> None:  # fmt: skip
        """Stores an execution, its calls or a search, without waiting for the store."""
        statements: list[Statement] = [_insert_call(tenant, call) for call in calls]
        if execution is not None:
            statements.append(_insert_execution(tenant, execution))
        if search is not None:
            statements.append(_insert_search(tenant, search))
        if statements:
            self._store.write_later(*statements)

    def store_definitions(self, tokens: Mapping[str, int]) -> None:
        """Stores what the definitions of all tools cost now, in place of the earlier numbers."""
        rows: list[Statement] = [("DELETE FROM spent_definitions", ())]
        rows += [("INSERT INTO spent_definitions (tool, tokens) VALUES (?, ?)", (tool, count)) for tool, count in tokens.items()]
        self._store.write_soon(*rows)

    async def read_history(
        self, *, tenant: str, session: str | None = None, conversation: str | None = None, since: float = 0.0
    ) -> UsageHistory:
        """Reads everything of a tenant, or of one of its sessions or conversations, since ``since``; the oldest first."""
        values: list[Any] = [tenant, since]
        where = of_calls = "tenant = ? AND at >= ?"
        if session is not None:
            where, of_calls, values = f"{where} AND session = ?", f"{where} AND session = ?", [*values, session]
        elif conversation is not None:
            named = name_conversation(conversation=conversation, session=None)
            mine = "SELECT execution FROM spent_executions WHERE tenant = ? AND conversation = ?"
            of_calls, values = f"execution IN ({mine}) AND at + 0 >= ?", [tenant, named, since]
            where = "tenant = ? AND conversation = ? AND at >= ?"
        executions = await self._read_rows("spent_executions", _EXECUTION_COLUMNS, where, values)
        calls = await self._read_rows("spent_calls", _CALL_COLUMNS, of_calls, values)
        searches = await self._read_rows("spent_searches", _SEARCH_COLUMNS, where, values)
        return await self._build_history(executions, calls, searches)

    async def read_claim(self, tenant: str, conversation: str) -> bool | None:
        """Reads whether an execution of a conversation has claimed the definitions; None if the conversation has none yet."""
        sql = "SELECT MAX(definition_tokens) FROM spent_executions WHERE tenant = ? AND conversation = ?"
        most = (await self._store.read(sql, tenant, conversation))[0][0]
        return None if most is None else bool(most)

    async def read_saved(self, execution: str, *, tenant: str) -> int | None:
        """Reads what one execution saved, or None if it is not in the accounts."""
        one = [tenant, execution]
        executions = await self._read_rows("spent_executions", _EXECUTION_COLUMNS, "tenant = ? AND execution = ?", one)
        if not executions:
            return None
        calls = await self._read_rows("spent_calls", _CALL_COLUMNS, "tenant = ? AND execution = ?", one)
        return compute_saved(SpentExecution(**executions[0]), [_parse_call(row) for row in calls])

    async def read_execution(self, execution: str, *, tenant: str) -> UsageHistory:
        """Reads one execution and its calls.

        Raises:
            NotFound: the execution is not in the accounts.
        """
        one: list[Any] = [tenant, execution]
        executions = await self._read_rows("spent_executions", _EXECUTION_COLUMNS, "tenant = ? AND execution = ?", one)
        if not executions:
            raise NotFound(f"no execution {execution[:80]!r} is in the token accounts")
        calls = await self._read_rows("spent_calls", _CALL_COLUMNS, "tenant = ? AND execution = ?", one)
        return await self._build_history(executions, calls, [])

    async def _build_history(
        self, executions: list[dict[str, Any]], calls: list[dict[str, Any]], searches: list[dict[str, Any]]
    ) -> UsageHistory:
        definitions = await self._store.read("SELECT tool, tokens FROM spent_definitions")
        return UsageHistory(
            executions=[SpentExecution(**row) for row in executions],
            calls=[_parse_call(row) for row in calls],
            searches=[_parse_search(row) for row in searches],
            definitions=dict(cast("list[tuple[str, int]]", definitions)),
        )

    async def _read_rows(self, table: str, columns: tuple[str, ...], where: str, values: Sequence[Any]) -> list[dict[str, Any]]:
        sql = f"SELECT {', '.join(columns)} FROM {table} WHERE {where} ORDER BY at DESC LIMIT {_MOST_ROWS}"  # noqa: S608 - our own names
        rows = await self._store.read(sql, *values)
        return [dict(zip(columns, row, strict=True)) for row in reversed(rows)]


_EXECUTION_COLUMNS = (
    "execution", "conversation", "session", "caller", "at", "ms", "status", "code_tokens", "code_bytes", "returned_tokens",
    "returned_bytes", "definition_tokens", "surface_tokens", "arm",
)  # fmt: skip
_CALL_COLUMNS = (
    "execution", "position", "session", "caller", "tool", "at", "ms", "status", "argument_tokens", "argument_bytes",
    "result_tokens", "result_bytes",
)  # fmt: skip
_SEARCH_COLUMNS = ("at", "conversation", "session", "caller", "query", "found", "query_tokens", "answer_tokens", "in_code")


def build_forget_statements(before: float) -> tuple[Statement, ...]:
    """Returns the statements that delete accounts older than ``before``."""
    tables = ("spent_executions", "spent_calls", "spent_searches")
    return tuple((f"DELETE FROM {table} WHERE at < ?", (before,)) for table in tables)  # noqa: S608 - our own names


def _build_insert(table: str, columns: tuple[str, ...], tenant: str, record: Any) -> Statement:
    marks = ", ".join("?" * (len(columns) + 1))
    sql = f"INSERT INTO {table} (tenant, {', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own names
    return sql, (tenant, *(getattr(record, column) for column in columns))


def _insert_execution(tenant: str, record: SpentExecution) -> Statement:
    sql, values = _build_insert("spent_executions", _EXECUTION_COLUMNS, tenant, record)
    return f"{sql} ON CONFLICT (execution) DO NOTHING", values


def _insert_call(tenant: str, record: SpentCall) -> Statement:
    sql, values = _build_insert("spent_calls", _CALL_COLUMNS, tenant, record)
    return f"{sql} ON CONFLICT (execution, position) DO NOTHING", values


def _insert_search(tenant: str, record: SpentSearch) -> Statement:
    sql, values = _build_insert("spent_searches", _SEARCH_COLUMNS, tenant, record)
    place = 1 + _SEARCH_COLUMNS.index("found")
    return sql, (*values[:place], " ".join(record.found), *values[place + 1 : -1], int(record.in_code))


def _parse_call(row: dict[str, Any]) -> SpentCall:
    return SpentCall(server=row["tool"].partition(".")[0], **row)


def _parse_search(row: dict[str, Any]) -> SpentSearch:
    found, in_code = row.pop("found"), row.pop("in_code")
    return SpentSearch(found=tuple(found.split()), in_code=bool(in_code), **row)
