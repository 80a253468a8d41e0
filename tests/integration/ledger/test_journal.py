"""The journal with its real seal, on both stores: kept over a restart, unreadable at rest, bound to its place."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection

import pytest

from gristmill.errors import NotFound, StoreUnavailable
from gristmill.ledger.journal import TABLES, Entry, Journal, RunRecord
from gristmill.ledger.record_seal import Seal
from gristmill.store.database import Database
from gristmill.store.sqlite import Sqlite
from tests.integration.store.conftest import Place

pytestmark = pytest.mark.anyio
SECRET = "ann@example.org"
RUN = RunRecord(id="r", root="r", session=None, caller="ann", code=f"send('{SECRET}')", status="running")


def entry(number: int) -> Entry:
    return Entry(root="r", hash=f"h{number}", occurrence=0, tool="crm.add", reads=False, arguments={"n": "<MASK>"})


@asynccontextmanager
async def opened(place: Place, key: bytes = b"k" * 32) -> AsyncGenerator[tuple[Journal, Database]]:
    store = await place.open(*TABLES)
    try:
        yield Journal(store, Seal(key), lambda: 100.0), store
    finally:
        await store.close()


async def test_a_run_and_the_state_of_its_calls_are_there_after_a_restart(place: Place) -> None:
    async with opened(place) as (journal, _):
        journal.began(RUN)
        for number in range(3):
            await journal.sent(entry(number))
        journal.done(entry(0), {"rows": [1, 2**70, None, "ü"]})
        journal.failed(entry(1))
    async with opened(place) as (journal, _):
        found = {one.hash: (one.state, one.value) for one in await journal.load("r")}
        assert found == {"h0": ("done", {"rows": [1, 2**70, None, "ü"]}), "h1": ("failed", None), "h2": ("sent", None)}
        assert await journal.find("r") == RUN


async def test_neither_code_nor_results_are_readable_at_rest_and_they_open_only_in_their_place(place: Place) -> None:
    async with opened(place) as (journal, store):
        journal.began(RUN)
        journal.done(entry(0), [SECRET])
        journal.done(entry(1), ["other"])
        await store.flush()
        assert SECRET.encode() not in repr(await store.read("SELECT * FROM runs")).encode()
        assert SECRET.encode() not in repr(await store.read("SELECT * FROM journal")).encode()
        swap = "UPDATE journal SET value = (SELECT value FROM journal WHERE hash = 'h0') WHERE hash = 'h1'"
        await store.write((swap, ()))
        with pytest.raises(StoreUnavailable, match="moved"):
            await journal.load("r")
    async with opened(place, b"x" * 32) as (journal, _):
        with pytest.raises(StoreUnavailable, match="another key"):
            await journal.load("r")


async def test_runs_untouched_for_long_are_forgotten_with_their_calls(place: Place) -> None:
    async with opened(place) as (journal, store):
        journal.began(RUN)
        journal.done(replace(entry(0)), 1)
        await store.flush()
        await journal.prune(99.0)
        assert len(await journal.load("r")) == 1
        await journal.prune(101.0)
        assert await journal.load("r") == ()


class FullDisk(Sqlite):
    """A disk with room for the tables and little more."""

    def connect(self) -> Connection:
        return self._small(super().connect())

    def connect_hastily(self) -> Connection:
        return self._small(super().connect_hastily())

    @staticmethod
    def _small(connection: Connection) -> Connection:
        connection.execute("PRAGMA max_page_count = 24")
        return connection


async def test_a_call_that_cannot_be_written_down_is_refused_before_it_leaves_and_what_was_written_stays(tmp_path: Path) -> None:
    store = await Database(FullDisk(tmp_path / "gristmill.db"), TABLES).open()
    journal = Journal(store, Seal(b"k" * 32), lambda: 100.0)
    left: list[str] = []

    async def until_full() -> None:
        for number in range(1_000):
            await journal.sent(replace(entry(number), arguments={"n": "x" * 1_000}))
            left.append(f"h{number}")

    with pytest.raises(StoreUnavailable, match="full"):
        await until_full()
    assert left
    assert {one.hash for one in await journal.load("r")} == set(left)
    await store.close()


async def test_of_two_who_looked_at_the_same_time_one_claims_a_run(place: Place) -> None:
    async with opened(place) as (journal, store), opened(place) as (other, _):
        now = [1.0]
        one, two = (Journal(of, Seal(b"k" * 32), lambda: now[0]) for of in (store, other._store))  # pyright: ignore[reportPrivateUsage]
        assert await one.created("r") is None
        assert sorted(await asyncio.gather(one.claim(RUN, None), two.claim(RUN, None))) == [False, True]
        seen, now[0] = await two.created("r"), 2.0
        changed = replace(RUN, code="anew")
        assert sorted(await asyncio.gather(one.claim(changed, seen), two.claim(changed, seen))) == [False, True]
        assert (await journal.find("r")).code == "anew"


@pytest.mark.parametrize("code", ["print(1)", "1", "{}"])
async def test_a_program_that_an_older_version_kept_is_not_taken_up(place: Place, code: str) -> None:
    async with opened(place) as (journal, store):
        await journal.keep(RUN)
        await store.write(("UPDATE runs SET code = ? WHERE id = ?", (Seal(b"k" * 32).seal(code.encode(), "run/r"), "r")))
        with pytest.raises(NotFound, match="execute the code anew"):
            await journal.find("r")
