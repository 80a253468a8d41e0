"""Finds out which index each query of the gateway uses: a tour through it records the queries, and SQLite explains them.

``python -m tests.integration.store.query_plans`` prints the list: tables, queries, and what finds their rows.
"""

import asyncio
import re
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gristmill import Config, Runtime
from gristmill.ledger.audit.audit_entries import AuditFilter
from gristmill.model import LOCAL_IDENTITY, Identity
from gristmill.runtime.open.session_stores import SkillScope
from gristmill.runtime.recording.daily_retention import CHORE_NAME
from gristmill.serve.access_tokens import TokenRegister
from gristmill.store.base import Value
from gristmill.store.driver import StoreStatements
from gristmill.store.open_store import FILE_NAME, open_store

_STEP = re.compile(r"(?P<way>SCAN|SEARCH) (?P<table>\w+)(?: USING (?P<with>.*))?")
PROGRAM = """
from servers import crm
from session import kv
from skills import save
def double(n: int) -> int:
    "Double a number."
    return n * 2
save(double, level="session")
kv["k"] = kv.get("k", 0) + 1
kv.keys()
crm.write(text="a")
crm.ask(text="b")
"""


@dataclass(frozen=True, slots=True)
class Step:
    """How one table of a query is read: all of it, or the rows that an index finds."""

    table: str
    index: str | None


def record_queries(queries: dict[str, None]) -> Any:
    """Adds every statement that reaches a store to ``queries``, while the block runs."""
    run, run_many = StoreStatements.run, StoreStatements.run_many

    def record_run(self: StoreStatements, sql: str, *values: Value) -> Any:
        queries[sql] = None
        return run(self, sql, *values)

    def record_many(self: StoreStatements, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        queries[sql] = None
        run_many(self, sql, rows)

    return patch.multiple(StoreStatements, run=record_run, run_many=record_many)


def explain(connection: sqlite3.Connection, sql: str) -> tuple[Step, ...]:
    """Returns how each table of a query is read; nothing for statements that find no rows."""
    if not re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)", sql) or "sqlite_master" in sql:
        return ()
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
    found = [match for row in rows if (match := _STEP.match(row[3])) and not match["table"].isdigit()]
    return tuple(Step(match["table"], match["with"] if match["way"] == "SEARCH" else None) for match in found)


@contextmanager
def open_tables(home: Path) -> Generator[sqlite3.Connection]:
    """Opens the store in ``home``, to explain queries in it."""
    with closing(sqlite3.connect(home / FILE_NAME)) as connection:
        yield connection


def write(text: str) -> str:
    """Write a text."""
    return f"{text} for ann@example.com"


@asynccontextmanager
async def open_gateway(home: Path) -> AsyncGenerator[Runtime]:
    """Opens a gateway whose policy allows one tool and asks about another."""
    policy = {"allow": ["crm.write"], "ask": ["crm.ask"]}
    config = Config.model_validate({"store": {"path": home}, "sandbox": {"warm": 0}, "policy": policy})
    store = await open_store(home)
    await store.write(("INSERT INTO chores VALUES (?, ?)", (CHORE_NAME, time.time())))  # or its queries come in between
    await store.close()
    async with Runtime.open(config, tools={"crm.write": write, "crm.ask": write}, serving=True) as runtime:
        yield runtime


async def work(runtime: Runtime) -> None:
    """Does what callers do all the time: searches, executes, waits for approval, resumes, and fetches an outcome."""
    await runtime.search("write a text", session="s")
    waiting = await runtime.execute(PROGRAM, session="s", promised=True)
    assert waiting.plan, waiting
    await runtime.approvals.decide(waiting.plan.id, "all", by="eve")
    done = await runtime.execute(resume=waiting.id, promised=True)
    assert done.status == "ok", done
    assert await runtime.outcome(done.id)
    await runtime.execute("1 + 1")
    tokens = TokenRegister(runtime._rooms.intake.store)  # pyright: ignore[reportPrivateUsage]
    text, _ = await tokens.create("ann")
    await tokens.verify(text)
    await runtime.audit.flush()
    await runtime._rooms.intake.store.flush()  # pyright: ignore[reportPrivateUsage]


async def operate(runtime: Runtime) -> None:
    """Does what operators and the daily retention do."""
    rooms = runtime._rooms  # pyright: ignore[reportPrivateUsage]
    tokens, scope = TokenRegister(rooms.intake.store), SkillScope(identity=LOCAL_IDENTITY)
    _, token = await tokens.create("bob")
    await tokens.revoke(token.id)
    for wanted in ({}, {"kind": "call"}, {"tenant": "a"}, {"caller": "a"}, {"session": "s"}, {"tool": "crm"}, {"status": "ok"}):
        await runtime.audit.list(AuditFilter(**wanted))  # pyright: ignore[reportArgumentType]
    await runtime.audit.list(AuditFilter(promises="open", since=1.0))
    newest = (await runtime.audit.list(AuditFilter(kind="execution"), limit=1))[0].record.id
    await runtime.audit.show(newest)
    assert (await runtime.audit.verify()).ok
    await runtime.approvals.list()
    await runtime.approvals.list(owner=Identity(caller="a", tenant="a"))
    await runtime.approvals.list(pending_only=False)
    await runtime.stats()
    await runtime.stats(session="s")
    await runtime.stats(execution=newest)
    await runtime.session_stores.skills.list(scope)
    await runtime.session_stores.skills.delete("double", scope, "user")
    await runtime.session_stores.prune()
    await runtime.delete_session("s")
    far = time.time() - 36_500 * 86_400
    for prune in (rooms.intake.journal.prune, rooms.recorder.outcomes.prune, rooms.intake.approvals.prune, runtime.audit.prune):
        await prune(far)
    await rooms.intake.journal.shrink(0)


async def tour(home: Path) -> tuple[dict[str, None], dict[str, None]]:
    """Returns the queries of the work that is done all the time, and those of the operators' work."""
    often, seldom = dict[str, None](), dict[str, None]()
    async with open_gateway(home) as runtime:
        with record_queries(often):
            await work(runtime)
            await work(runtime)
        with record_queries(seldom):
            await operate(runtime)
    return often, seldom


def print_list(home: Path) -> None:
    """Prints every query, by the table that it reads."""
    often, seldom = asyncio.run(tour(home))
    with open_tables(home) as connection:
        lines = {
            f"{step.table:18} {step.index or 'ALL ROWS':75} {'often ' if sql in often else 'seldom'} {' '.join(sql.split())[:220]}"
            for sql in {**often, **seldom}
            for step in explain(connection, sql)
        }
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        print_list(Path(place))
