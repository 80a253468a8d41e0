"""What is kept is forgotten when it is too old or too much, once a day, and not before."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from anyio import fail_after
from msgspec.structs import replace

from gristmill.config.sections.records_section import RecordsConfig
from gristmill.config.tree import Config
from gristmill.errors import NotFound
from gristmill.guard.mask.redactor import Redactor
from gristmill.ledger.audit.audit_entries import AuditRecord
from gristmill.ledger.journal import JournalEntry, RunRecord
from gristmill.model import Identity, PlannedCall
from gristmill.runtime.open.open_durable import DurableStores, open_durable_stores
from gristmill.runtime.recording.daily_retention import DAY, DailyRetention
from gristmill.store.clock_guard import trust_clock

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
async def durable(tmp_path: Path) -> AsyncGenerator[DurableStores]:
    clock.now = 1_000 * DAY
    async with open_durable_stores(Config.model_validate({"store": {"path": tmp_path}}), clock) as opened:
        with fail_after(5):
            while not await opened.store.read("SELECT at FROM chores"):
                pass  # the look that every process takes when it opens the store
        yield opened


def _retention(durable: DurableStores, rules: RecordsConfig | None = None) -> DailyRetention:
    return DailyRetention(
        outcomes=durable.outcomes,
        store=durable.store, journal=durable.journal, approvals=durable.approvals, audit=durable.audit,
        rules=rules or RecordsConfig(), clock=clock,
    )  # fmt: skip


async def _leave(durable: DurableStores, run: str, size: int = 10) -> Redactor:
    """A run with a call, a question, a mask and a record."""
    durable.journal.note_run(RunRecord(id=run, root=run, session=None, owner=Identity(caller="ann"), code="x", status="ok"))
    entry = JournalEntry(root=run, hash="h", occurrence=0, tool="t.u", reads=False, arguments={})
    durable.journal.record_done(replace(entry, state="done"), "x" * size)
    await durable.approvals.submit_plan(
        [CALL], root=run, execution=run, session=None, identity=Identity(caller="ann"), seconds=60
    )
    durable.audit.record(AuditRecord(kind="execution", id=run, time=clock()))
    redactor = await durable.redactors.get_redactor(f"run {run}", is_new=True)
    redactor.mask(f"{run}@example.org")
    await durable.audit.flush()
    await durable.store.flush()
    return redactor


async def _left(durable: DurableStores) -> dict[str, list[str]]:
    columns = {"runs": "id", "journal": "root", "approvals": "root", "masks": "scope", "audit": "id"}
    return {
        table: sorted(str(row[0]) for row in await durable.store.read(f"SELECT {column} FROM {table}"))
        for table, column in columns.items()
    }


async def test_what_is_too_old_is_forgotten_and_the_rest_stays(durable: DurableStores) -> None:
    await _leave(durable, "old")
    clock.now += 20 * DAY
    await trust_clock(durable.store, clock)  # the days have passed, as far as anything here can tell
    await durable.session_stores.clock_guard.sync()
    await _leave(durable, "new")
    assert await _retention(durable).run_if_due()
    assert await _left(durable) == {
        "runs": ["new"], "journal": ["new"], "approvals": ["new"], "masks": ["run new"], "audit": ["new", "old"],
    }  # fmt: skip
    with pytest.raises(NotFound):
        await durable.journal.find_run("old")


async def test_the_audit_is_kept_longer_and_stays_whole(durable: DurableStores) -> None:
    await _leave(durable, "old")
    clock.now += 400 * DAY
    await _leave(durable, "new")
    assert await _retention(durable).run_if_due()
    assert "old" not in (await _left(durable))["audit"]
    assert (await durable.audit.verify()).ok


async def test_past_its_size_the_journal_forgets_the_oldest_first(durable: DurableStores) -> None:
    for run in ("first", "second", "third"):
        clock.now += 1
        await _leave(durable, run, size=400_000)
    clock.now += DAY
    assert await _retention(durable, RecordsConfig(journal_mb=1)).run_if_due()
    assert (await _left(durable))["runs"] == ["second", "third"]


async def test_the_journal_is_shrunk_as_it_fills(durable: DurableStores) -> None:
    chores = _retention(durable, RecordsConfig(journal_mb=1))
    await _leave(durable, "first", size=400_000)
    await chores.shrink_as_it_fills()
    assert (await _left(durable))["runs"] == ["first"]
    for run in ("second", "third"):
        clock.now += 1
        await _leave(durable, run, size=400_000)
    await chores.shrink_as_it_fills()
    assert (await _left(durable))["runs"] == ["second", "third"]


async def test_it_is_done_once_a_day_whoever_comes(durable: DurableStores) -> None:
    clock.now += DAY
    assert [await _retention(durable).run_if_due() for _ in range(2)] == [True, False]
    clock.now += DAY
    assert await _retention(durable).run_if_due()
    clock.now -= 100 * DAY
    assert await _retention(durable).run_if_due(), "a clock that was set back does not put it off"


async def test_nothing_is_forgotten_where_the_configuration_says_for_ever(durable: DurableStores) -> None:
    await _leave(durable, "old")
    clock.now += 4_000 * DAY
    assert await _retention(durable, RecordsConfig(journal_days=0, audit_days=0)).run_if_due()
    assert await _left(durable) == {
        "runs": ["old"], "journal": ["old"], "approvals": ["old"], "masks": ["run old"], "audit": ["old"],
    }  # fmt: skip
