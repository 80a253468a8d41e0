"""What is kept is forgotten when it is too old or too much, once a day, and not before."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import fail_after

from gristmill.config.sections.records_section import RecordsConfig
from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.guard.mask.redactor import Redactor
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.journal import Entry, RunRecord
from gristmill.model import PlannedCall
from gristmill.runtime.open.open_durable import Durable, open_durable
from gristmill.runtime.recording.daily_retention import DAY, Retention

pytestmark = pytest.mark.anyio
CALL = PlannedCall(number=1, tool="t.u", arguments={}, rule="", hash="h")


class Clock:
    now = 1_000 * DAY

    def __call__(self) -> float:
        return self.now


clock = Clock()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def durable(tmp_path: Path) -> AsyncGenerator[Durable]:
    clock.now = 1_000 * DAY
    async with open_durable(Config.model_validate({"store": {"path": tmp_path}}), clock) as opened:
        with fail_after(5):
            while not await opened.store.read("SELECT at FROM chores"):
                pass  # the look that every process takes when it opens the store
        yield opened


def _retention(durable: Durable, rules: RecordsConfig | None = None) -> Retention:
    return Retention(
        outcomes=durable.outcomes,
        store=durable.store, journal=durable.journal, approvals=durable.approvals, audit=durable.audit,
        rules=rules or RecordsConfig(), clock=clock,
    )  # fmt: skip


async def _leave(durable: Durable, run: str, size: int = 10) -> Redactor:
    """A run with a call, a question, a mask and a record."""
    durable.journal.began(RunRecord(id=run, root=run, session=None, caller="ann", code="x", status="ok"))
    entry = Entry(root=run, hash="h", occurrence=0, tool="t.u", reads=False, arguments={})
    durable.journal.done(replace(entry, state="done"), "x" * size)
    await durable.approvals.open([CALL], root=run, execution=run, session=None, caller="ann", seconds=60)
    durable.audit.record(AuditRecord(kind="execution", id=run, time=clock()))
    redactor = await durable.redactors.of(f"run {run}", is_new=True)
    redactor.mask(f"{run}@example.org")
    await durable.audit.flush()
    await durable.store.flush()
    return redactor


async def _left(durable: Durable) -> dict[str, list[str]]:
    columns = {"runs": "id", "journal": "root", "approvals": "root", "masks": "scope", "audit": "id"}
    return {
        table: sorted(str(row[0]) for row in await durable.store.read(f"SELECT {column} FROM {table}"))
        for table, column in columns.items()
    }


async def test_what_is_too_old_is_forgotten_and_the_rest_stays(durable: Durable) -> None:
    await _leave(durable, "old")
    clock.now += 20 * DAY
    await _leave(durable, "new")
    assert await _retention(durable).once_a_day()
    assert await _left(durable) == {
        "runs": ["new"], "journal": ["new"], "approvals": ["new"], "masks": ["run new"], "audit": ["new", "old"],
    }  # fmt: skip
    with pytest.raises(NotFound):
        await durable.journal.find("old")


async def test_the_audit_is_kept_longer_and_stays_whole(durable: Durable) -> None:
    await _leave(durable, "old")
    clock.now += 400 * DAY
    await _leave(durable, "new")
    assert await _retention(durable).once_a_day()
    assert "old" not in (await _left(durable))["audit"]
    assert (await durable.audit.verify()).ok


async def test_past_its_size_the_journal_forgets_the_oldest_first(durable: Durable) -> None:
    for run in ("first", "second", "third"):
        clock.now += 1
        await _leave(durable, run, size=400_000)
    clock.now += DAY
    assert await _retention(durable, RecordsConfig(journal_mb=1)).once_a_day()
    assert (await _left(durable))["runs"] == ["second", "third"]


async def test_it_is_done_once_a_day_whoever_comes(durable: Durable) -> None:
    clock.now += DAY
    assert [await _retention(durable).once_a_day() for _ in range(2)] == [True, False]
    clock.now += DAY
    assert await _retention(durable).once_a_day()
    clock.now -= 100 * DAY
    assert await _retention(durable).once_a_day(), "a clock that was set back does not put it off"


async def test_nothing_is_forgotten_where_the_configuration_says_for_ever(durable: Durable) -> None:
    await _leave(durable, "old")
    clock.now += 4_000 * DAY
    assert await _retention(durable, RecordsConfig(journal_days=0, audit_days=0)).once_a_day()
    assert await _left(durable) == {
        "runs": ["old"], "journal": ["old"], "approvals": ["old"], "masks": ["run old"], "audit": ["old"],
    }  # fmt: skip
