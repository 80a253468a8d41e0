"""What the gateway asks its store all the time is found by an index, so that it takes as long with many rows as with few."""

from pathlib import Path

import pytest

from tests.integration.store.query_plans import explain, open_tables, tour

pytestmark = pytest.mark.anyio

READ_WHOLE = {
    "SELECT max(seq) FROM audit": "SQLite looks at the last row only",
}
"""The queries that are known to read all rows of a table, and why."""


async def test_no_other_frequent_query_reads_a_whole_table(state: Path, request: pytest.FixtureRequest) -> None:
    home = state / f"plans-{abs(hash(request.node.nodeid))}"
    home.mkdir()
    often, seldom = await tour(home)
    with open_tables(home) as connection:
        plans = {sql: explain(connection, sql) for sql in often}
        assert any(step.index is None for sql in seldom for step in explain(connection, sql)), "the plans are not understood"
    assert {sql for sql, steps in plans.items() if any(step.index is None for step in steps)} == READ_WHOLE.keys()
    tables = {step.table for steps in plans.values() for step in steps}
    assert {"runs", "journal", "approvals", "outcomes", "masks", "sessions", "session_values", "skills", "tokens"} <= tables
