"""The journal with its real seal, on both stores: kept over a restart, unreadable at rest, bound to its place."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from sqlite3 import Connection

import pytest
from msgspec.structs import replace

from gristmill.errors import StoreUnavailable
from gristmill.ledger.journal import PROGRAM_FORMAT, VALUE_FORMAT, Journal, JournalEntry, RunClaim, RunRecord
from gristmill.ledger.record_formats import mark_format
from gristmill.ledger.record_seal import RecordSeal
from gristmill.model import Identity
from gristmill.store.base import Store
from gristmill.store.database import Database
from gristmill.store.sqlite import Sqlite
from tests.integration.store.conftest import Place

pytestmark = pytest.mark.anyio
SECRET = "ann@example.org"
RUN = RunRecord(id="r", root="r", session=None, owner=Identity(caller="ann"), code=f"send('{SECRET}')", status="running")


def entry(number: int) -> JournalEntry:
    return JournalEntry(root="r", hash=f"h{number}", occurrence=0, tool="crm.add", reads=False, arguments={"n": "<MASK>"})


@asynccontextmanager
async def opened(place: Place, key: bytes = b"k" * 32) -> AsyncGenerator[tuple[Journal, Database]]:
    store = await place.open()
    try:
        yield Journal(store, RecordSeal(key), lambda: 100.0), store
    finally:
        await store.close()


async def test_a_run_and_the_state_of_its_calls_are_there_after_a_restart(place: Place) -> None:
    async with opened(place) as (journal, _):
        journal.note_run(RUN)
        for number in range(3):
            await journal.record_sent(entry(number))
        journal.record_done(entry(0), {"rows": [1, 2**70, None, "ü"]})
        journal.record_failed(entry(1))
    async with opened(place) as (journal, _):
        found = {one.hash: (one.state, one.value) for one in await journal.load_calls("r")}
        assert found == {"h0": ("done", {"rows": [1, 2**70, None, "ü"]}), "h1": ("failed", None), "h2": ("sent", None)}
        assert await journal.find_run("r") == RUN


async def test_neither_code_nor_results_are_readable_at_rest_and_they_open_only_in_their_place(place: Place) -> None:
    async with opened(place) as (journal, store):
        journal.note_run(RUN)
        journal.record_done(entry(0), [SECRET])
        journal.record_done(entry(1), ["other"])
        await store.flush()
        assert SECRET.encode() not in repr(await store.read("SELECT * FROM runs")).encode()
        assert SECRET.encode() not in repr(await store.read("SELECT * FROM journal")).encode()
        swap = "UPDATE journal SET value = (SELECT value FROM journal WHERE hash = 'h0') WHERE hash = 'h1'"
        await store.write((swap, ()))
        with pytest.raises(StoreUnavailable, match="moved"):
            await journal.load_calls("r")
    async with opened(place, b"x" * 32) as (journal, _):
        with pytest.raises(StoreUnavailable, match="another key"):
            await journal.load_calls("r")


async def test_runs_untouched_for_long_are_forgotten_with_their_calls(place: Place) -> None:
    async with opened(place) as (journal, store):
        journal.note_run(RUN)
        journal.record_done(replace(entry(0)), 1)
        await store.flush()
        await journal.prune(99.0)
        assert len(await journal.load_calls("r")) == 1
        await journal.prune(101.0)
        assert await journal.load_calls("r") == ()


class FullDisk(Sqlite):
    """A disk with room for the tables and little more."""

    def connect(self) -> Connection:
        return self._small(super().connect())

    def connect_without_waiting(self) -> Connection:
        return self._small(super().connect_without_waiting())

    @staticmethod
    def _small(connection: Connection) -> Connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 8}")
        return connection


async def test_a_call_that_cannot_be_written_down_is_refused_before_it_leaves_and_what_was_written_stays(tmp_path: Path) -> None:
    store = await Database(FullDisk(tmp_path / "gristmill.db")).open()
    journal = Journal(store, RecordSeal(b"k" * 32), lambda: 100.0)
    left: list[str] = []

    async def until_full() -> None:
        for number in range(1_000):
            await journal.record_sent(replace(entry(number), arguments={"n": "x" * 1_000}))
            left.append(f"h{number}")

    with pytest.raises(StoreUnavailable, match="full"):
        await until_full()
    assert left
    assert {one.hash for one in await journal.load_calls("r")} == set(left)
    await store.close()


async def test_of_two_who_looked_at_the_same_time_one_claims_a_run(place: Place) -> None:
    async with opened(place) as (journal, store), opened(place) as (other, _):
        now = [1.0]
        one, two = (Journal(of, RecordSeal(b"k" * 32), lambda: now[0]) for of in (store, other._store))  # pyright: ignore[reportPrivateUsage]
        assert await one.read_claim("r") is None
        both = one.claim_run(RUN, None, process="p"), two.claim_run(RUN, None, process="p")
        assert sorted(await asyncio.gather(*both)) == [False, True]
        seen, now[0] = await two.read_claim("r"), 2.0
        assert seen == RunClaim(time=1.0, process="p")
        changed = replace(RUN, code="anew")
        both = one.claim_run(changed, seen, process="q"), two.claim_run(changed, seen, process="q")
        assert sorted(await asyncio.gather(*both)) == [False, True]
        assert (await journal.find_run("r")).code == "anew"


async def put_program(store: Store, record: bytes) -> None:
    await store.write(("UPDATE runs SET code = ? WHERE id = ?", (RecordSeal(b"k" * 32).seal(record, "run/r"), "r")))


@pytest.mark.parametrize("code", ["print(1)", "1", "{}"])
async def test_a_program_that_was_recorded_without_its_context_is_not_run_and_its_writes_are_named(
    place: Place, code: str
) -> None:
    async with opened(place) as (journal, store):
        await journal.store_run(RUN)
        await put_program(store, code.encode())
        for number, tool in enumerate(["crm.add", "crm.add", "crm.send", "crm.fail"]):
            made = replace(entry(number), tool=tool, reads=False)
            await journal.record_sent(made)
            if tool == "crm.add":
                journal.record_done(made, 1)
            if tool == "crm.fail":
                journal.record_failed(made)
        await store.flush()
        found = await journal.find_run("r")
        assert (found.code, found.lacks_context) == ("", True)
        told = str(await journal.build_no_context_error(found))
        assert "crm.add (2 times made), crm.send (sent, and it is not known whether it was made). Do not execute" in told


async def test_a_program_of_the_first_release_is_read_and_one_of_a_later_format_is_refused(place: Place) -> None:
    async with opened(place) as (journal, store):
        await journal.store_run(RUN)
        assert (await journal.find_run("r")).context == RUN.context
        await put_program(store, b'{"code": "1 + 1", "context": {"a": 1}}')
        found = await journal.find_run("r")
        assert (found.code, found.context, found.lacks_context) == ("1 + 1", {"a": 1}, False)
        for damaged in (
            mark_format(PROGRAM_FORMAT + 1, b"{}"),
            mark_format(PROGRAM_FORMAT, b"{}"),
            mark_format(PROGRAM_FORMAT, b"1"),
        ):
            await put_program(store, damaged)
            with pytest.raises(StoreUnavailable):
                await journal.find_run("r")


async def test_a_result_of_the_first_release_is_read_and_one_of_a_later_format_is_refused(place: Place) -> None:
    async with opened(place) as (journal, store):
        seal, made = RecordSeal(b"k" * 32), entry(0)
        journal.record_done(made, {"old": False})
        for record, value in ((b'{"format": 2}', {"format": 2}), (b'"plain"', "plain")):
            await store.write(("UPDATE journal SET value = ?", (seal.seal(record, made.seal_place),)))
            assert [each.value for each in await journal.load_calls("r")] == [value]
        later = seal.seal(mark_format(VALUE_FORMAT + 1, b"1"), made.seal_place)
        await store.write(("UPDATE journal SET value = ?", (later,)))
        with pytest.raises(StoreUnavailable, match="use the version that wrote it"):
            await journal.load_calls("r")
