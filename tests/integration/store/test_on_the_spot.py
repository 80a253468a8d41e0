"""A brief change is made on the spot where nobody else writes, and otherwise as any other: nobody sees a difference."""

import asyncio
import sqlite3
import threading
from pathlib import Path

import pytest

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Transaction
from gristmill.store.open_store import FILE_NAME
from gristmill.store.sqlite import Sqlite
from tests.integration.store.conftest import Place, open_with

pytestmark = pytest.mark.anyio

TABLES = ("CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, size INTEGER)",)
PUT = "INSERT INTO things VALUES (?, ?)"


def count(transaction: Transaction) -> object:
    """What is there, and who looked."""
    return transaction.run("SELECT count(*) FROM things")[0][0], threading.current_thread() is threading.main_thread()


async def test_nobody_is_woken_for_a_row_of_a_file(tmp_path: Path) -> None:
    store = await open_with(tmp_path, TABLES)
    assert await store.change(count, is_brief=True) == (0, True)
    assert await store.change(count) == (0, False)
    await store.close()


async def test_who_must_be_sure_of_the_disk_waits_for_it_elsewhere(tmp_path: Path) -> None:
    store = await open_with(tmp_path, TABLES, sync="full")
    assert await store.change(count, is_brief=True) == (0, False)
    await store.close()


async def test_it_comes_after_everything_that_was_to_be_written_before(place: Place) -> None:
    store = await place.open(*TABLES)
    store.write_later((PUT, ("a", 1)))
    store.write_soon((PUT, ("b", 2)))
    assert await store.change(lambda step: step.run("SELECT name FROM things ORDER BY name"), is_brief=True) == [("a",), ("b",)]
    await store.close()


async def test_it_does_not_overtake_what_was_asked_for_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, may_begin, begin = await open_with(tmp_path, TABLES), threading.Event(), Sqlite.begin_statements

    def begin_late(driver: Sqlite) -> tuple[str, ...]:
        if threading.current_thread() is not threading.main_thread():
            may_begin.wait(10)
        return begin(driver)

    monkeypatch.setattr(Sqlite, "begin_statements", begin_late)
    asyncio.get_running_loop().call_later(0.05, may_begin.set)
    first = asyncio.create_task(store.write((PUT, ("a", 1))))
    await asyncio.sleep(0)
    assert await store.change(count, is_brief=True) == (1, False)
    await first
    await store.close()


async def test_many_of_them_at_once_do_not_overwrite_each_other(place: Place) -> None:
    store = await place.open(*TABLES)
    await store.write((PUT, ("n", 0)))

    def add(step: Transaction) -> None:
        (size,) = step.run("SELECT size FROM things")[0]
        step.run("UPDATE things SET size = ?", int(str(size)) + 1)

    await asyncio.gather(*(store.change(add, is_brief=bool(number % 2)) for number in range(200)))
    assert await store.read("SELECT size FROM things") == [(200,)]
    await store.close()


async def test_what_fails_takes_back_its_own_part_only(place: Place) -> None:
    store = await place.open(*TABLES)
    store.write_soon((PUT, ("a", 1)))

    def fail(step: Transaction) -> None:
        step.run(PUT, "b", 2)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.change(fail, is_brief=True)
    with pytest.raises(StoreUnavailable):
        await store.change(lambda step: step.run("SELECT * FROM nowhere"), is_brief=True)
    assert await store.read("SELECT name FROM things") == [("a",)]
    await store.close()


async def test_what_was_gathered_and_fails_is_told_to_whoever_flushes(place: Place) -> None:
    store = await place.open(*TABLES)
    store.write_soon(("INSERT INTO nowhere VALUES (1)", ()))
    await store.change(lambda step: step.run(PUT, "a", 1), is_brief=True)
    with pytest.raises(StoreUnavailable):
        await store.flush()
    assert await store.read("SELECT name FROM things") == [("a",)]
    await store.close()


@pytest.mark.timeout(8)  # less than the patience of other connections
async def test_another_process_that_writes_holds_up_nobody_but_the_asker(tmp_path: Path) -> None:
    store = await open_with(tmp_path, TABLES)
    await store.change(count, is_brief=True)
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    asked = asyncio.create_task(store.change(count, is_brief=True))
    await asyncio.sleep(0)
    assert not asked.done()  # and here we are, while it waits
    other.execute("COMMIT")
    other.close()
    assert await asyncio.wait_for(asked, 20) == (0, False)
    assert await store.change(count, is_brief=True) == (0, True)
    await store.close()


async def test_a_closed_store_says_so(place: Place) -> None:
    store = await place.open(*TABLES)
    await store.change(count, is_brief=True)
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.change(count, is_brief=True)
