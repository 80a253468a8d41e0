"""A store keeps what it acknowledged, keeps writers apart, and says what went wrong."""

import asyncio
from pathlib import Path

import pytest

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Transaction
from gristmill.store.database import Database
from gristmill.store.open import open_store

pytestmark = pytest.mark.anyio

TABLES = ("CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, size INTEGER)",)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def _store(folder: Path) -> Database:
    return await open_store(folder, TABLES)


async def test_what_was_written_is_read_after_a_restart(tmp_path: Path) -> None:
    store = await _store(tmp_path)
    await store.write(("INSERT INTO things VALUES (?, ?)", ("a", 1)), ("INSERT INTO things VALUES (?, ?)", ("b", 2)))
    await store.close()
    again = await _store(tmp_path)
    assert await again.read("SELECT name, size FROM things ORDER BY name") == [("a", 1), ("b", 2)]
    await again.close()


async def test_statements_of_one_write_take_effect_together_or_not_at_all(tmp_path: Path) -> None:
    store = await _store(tmp_path)
    with pytest.raises(StoreUnavailable):
        await store.write(("INSERT INTO things VALUES (?, ?)", ("a", 1)), ("INSERT INTO nowhere VALUES (1)", ()))
    assert await store.read("SELECT * FROM things") == []
    await store.close()


async def test_a_write_that_fails_leaves_others_of_the_same_moment_alone(tmp_path: Path) -> None:
    store = await _store(tmp_path)
    results = await asyncio.gather(
        store.write(("INSERT INTO things VALUES (?, ?)", ("a", 1))),
        store.write(("INSERT INTO nowhere VALUES (1)", ())),
        store.write(("INSERT INTO things VALUES (?, ?)", ("b", 2))),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [type(None), StoreUnavailable, type(None)]
    assert await store.read("SELECT count(*) FROM things") == [(2,)]
    await store.close()


async def test_changes_do_not_overwrite_each_other(tmp_path: Path) -> None:
    store = await _store(tmp_path)
    await store.write(("INSERT INTO things VALUES ('n', 0)", ()))

    def add(transaction: Transaction) -> None:
        ((size,),) = transaction.run("SELECT size FROM things WHERE name = 'n'")
        assert isinstance(size, int)
        transaction.run("UPDATE things SET size = ? WHERE name = 'n'", size + 1)

    await asyncio.gather(*(store.change(add) for _ in range(100)))
    assert await store.read("SELECT size FROM things") == [(100,)]
    await store.close()


async def test_a_write_nobody_waits_for_reports_its_failure_at_the_next_flush(tmp_path: Path) -> None:
    store = await _store(tmp_path)
    store.write_soon(("INSERT INTO things VALUES (?, ?)", ("a", 1)))
    await store.flush()
    store.write_soon(("INSERT INTO nowhere VALUES (1)", ()))
    with pytest.raises(StoreUnavailable):
        await store.flush()
    await store.flush()
    assert await store.read("SELECT name FROM things") == [("a",)]
    await store.close()


async def test_closing_commits_what_waits(tmp_path: Path) -> None:
    store = await _store(tmp_path)
    for number in range(500):
        store.write_soon(("INSERT INTO things VALUES (?, ?)", (f"t{number}", number)))
    await store.close()
    again = await _store(tmp_path)
    assert await again.read("SELECT count(*) FROM things") == [(500,)]
    await again.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = await _store(tmp_path)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.read("SELECT 1")


async def test_a_folder_that_cannot_be_written_is_an_error_not_a_hang(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable):
        await _store(tmp_path / "file")
