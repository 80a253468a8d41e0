"""A store keeps what it acknowledged, keeps writers apart, and says what went wrong."""

import asyncio

import pytest

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Transaction
from gristmill.store.database import Database
from tests.integration.store.conftest import Place

pytestmark = pytest.mark.anyio

TABLES = ("CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY, size INTEGER)",)


async def _store(place: Place) -> Database:
    return await place.open(*TABLES)


async def test_what_was_written_is_read_after_a_restart(place: Place) -> None:
    store = await _store(place)
    await store.write(("INSERT INTO things VALUES (?, ?)", ("a", 1)), ("INSERT INTO things VALUES (?, ?)", ("b", 2)))
    await store.close()
    again = await _store(place)
    assert await again.read("SELECT name, size FROM things ORDER BY name") == [("a", 1), ("b", 2)]
    await again.close()


async def test_statements_of_one_write_take_effect_together_or_not_at_all(place: Place) -> None:
    store = await _store(place)
    with pytest.raises(StoreUnavailable):
        await store.write(("INSERT INTO things VALUES (?, ?)", ("a", 1)), ("INSERT INTO nowhere VALUES (1)", ()))
    assert await store.read("SELECT * FROM things") == []
    await store.close()


async def test_a_write_that_fails_leaves_others_of_the_same_moment_alone(place: Place) -> None:
    store = await _store(place)
    results = await asyncio.gather(
        store.write(("INSERT INTO things VALUES (?, ?)", ("a", 1))),
        store.write(("INSERT INTO nowhere VALUES (1)", ())),
        store.write(("INSERT INTO things VALUES (?, ?)", ("b", 2))),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [type(None), StoreUnavailable, type(None)]
    assert await store.read("SELECT count(*) FROM things") == [(2,)]
    await store.close()


async def test_many_rows_of_one_kind_arrive_each_and_in_their_order(place: Place) -> None:
    store = await _store(place)
    put = "INSERT INTO things VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET size = excluded.size"
    rows = [(f"n{number % 70}", number) for number in range(170)]
    await asyncio.gather(*(store.write((put, row)) for row in rows[:85]), store.write(*((put, row) for row in rows[85:])))
    assert sorted(await store.read("SELECT name, size FROM things")) == sorted(dict(rows).items())
    await store.close()


async def test_one_bad_row_among_many_is_the_only_one_missing(place: Place) -> None:
    store = await _store(place)
    put = "INSERT INTO things VALUES (?, ?)"
    rows = [("twice", 0) if number in (20, 40) else (f"n{number}", number) for number in range(60)]
    results = await asyncio.gather(*(store.write((put, row)) for row in rows), return_exceptions=True)
    assert [number for number, result in enumerate(results) if result is not None] == [40]
    assert await store.read("SELECT count(*) FROM things") == [(59,)]
    await store.close()


async def test_changes_do_not_overwrite_each_other(place: Place) -> None:
    store = await _store(place)
    await store.write(("INSERT INTO things VALUES ('n', 0)", ()))

    def add(transaction: Transaction) -> None:
        ((size,),) = transaction.run("SELECT size FROM things WHERE name = 'n'")
        assert isinstance(size, int)
        transaction.run("UPDATE things SET size = ? WHERE name = 'n'", size + 1)

    await asyncio.gather(*(store.change(add) for _ in range(100)))
    assert await store.read("SELECT size FROM things") == [(100,)]
    await store.close()


async def test_a_write_nobody_waits_for_reports_its_failure_at_the_next_flush(place: Place) -> None:
    store = await _store(place)
    store.write_soon(("INSERT INTO things VALUES (?, ?)", ("a", 1)))
    await store.flush()
    store.write_soon(("INSERT INTO nowhere VALUES (1)", ()))
    with pytest.raises(StoreUnavailable):
        await store.flush()
    await store.flush()
    assert await store.read("SELECT name FROM things") == [("a",)]
    await store.close()


async def test_whoever_flushes_meanwhile_hears_of_a_failure(place: Place) -> None:
    store = await _store(place)

    async def kept(name: str) -> object:
        store.write_soon(("INSERT INTO nowhere VALUES (?)", (name,)))
        return await store.flush()

    told = await asyncio.gather(*(kept(name) for name in "abc"), return_exceptions=True)
    assert [type(one) for one in told] == [StoreUnavailable] * 3
    await store.flush()  # whoever comes later has lost nothing
    await store.close()


async def test_closing_commits_what_waits(place: Place) -> None:
    store = await _store(place)
    for number in range(500):
        store.write_soon(("INSERT INTO things VALUES (?, ?)", (f"t{number}", number)))
    await store.close()
    again = await _store(place)
    assert await again.read("SELECT count(*) FROM things") == [(500,)]
    await again.close()


async def test_a_closed_store_says_so(place: Place) -> None:
    store = await _store(place)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await store.read("SELECT 1")


async def test_types_and_odd_texts_come_back_as_they_went_in(place: Place) -> None:
    store = await place.open("CREATE TABLE IF NOT EXISTS odd (n INTEGER, x REAL, t TEXT, b BLOB)")
    row = (2**53, 0.1 + 0.2, "it's 100% ü ? \N{PILE OF POO}", bytes(range(256)))
    await store.write(("INSERT INTO odd VALUES (?, ?, ?, ?)", row), ("INSERT INTO odd VALUES (?, ?, ?, ?)", (None,) * 4))
    assert await store.read("SELECT * FROM odd WHERE t LIKE 'it''s 100%' AND b = ?", row[3]) == [row]
    (counted,) = await store.read("SELECT sum(n), count(*), max(x) > 0, '100%?' FROM odd")
    assert (counted, [type(value) for value in counted]) == ((2**53, 2, 1, "100%?"), [int, int, int, str])
    await store.close()


async def test_two_processes_change_one_number_without_losing_a_step(place: Place) -> None:
    first, second = await _store(place), await _store(place)
    await first.write(("INSERT INTO things VALUES ('n', 0)", ()))

    def add(transaction: Transaction) -> None:
        ((size,),) = transaction.run("SELECT size FROM things WHERE name = 'n'")
        assert isinstance(size, int)
        transaction.run("UPDATE things SET size = ? WHERE name = 'n'", size + 1)

    await asyncio.gather(*(store.change(add) for _ in range(50) for store in (first, second)))
    assert await first.read("SELECT size FROM things") == [(100,)]
    await first.close()
    await second.close()
