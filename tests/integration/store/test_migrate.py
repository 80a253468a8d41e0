"""A store is brought to the newest version once, whole or not at all, on both databases."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from gristmill.errors import StoreUnavailable
from gristmill.store.database import Database
from gristmill.store.open_store import open_store
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.migrations import MIGRATIONS
from gristmill.store.schema.v0001_first import FIRST
from tests.integration.store.conftest import Place

pytestmark = pytest.mark.anyio

NEWEST = MIGRATIONS[-1].number
NEXT = """Migration(
    number=NEWEST + 1,
    name="next",
    statements=(
        "ALTER TABLE chores RENAME COLUMN at TO done",
        "UPDATE chores SET done = done + 1",
        "CREATE TABLE things (name TEXT PRIMARY KEY)",
    ),
)"""
LATER = (*MIGRATIONS, eval(NEXT))
OPEN = f"""
import asyncio, os, sys
from pathlib import Path
from gristmill.store import sqlite_copy
from gristmill.store.driver import StoreStatements
from gristmill.store.open_store import open_store
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.migrations import MIGRATIONS

NEWEST = MIGRATIONS[-1].number
LATER = (*MIGRATIONS, {NEXT})

def wait():
    print("here", flush=True)
    sys.stdin.readline()

async def open_later():
    store = await open_store(Path(sys.argv[1]), url=os.environ.get("STORE_URL"), migrations=LATER)
    print((await store.read_version()).number, flush=True)
    await store.close()
"""
OPEN_AT_ONCE = f"{OPEN}\nwait()\nasyncio.run(open_later())"
STOP = f"""{OPEN}
sync, run = sqlite_copy._sync, StoreStatements.run

def stop_in_run(self, sql, *values):
    if sql.startswith(sys.argv[2]):
        wait()
    return run(self, sql, *values)

def stop_in_copy(path):
    if sys.argv[2] == "copy":
        wait()
    return sync(path)

StoreStatements.run, sqlite_copy._sync = stop_in_run, stop_in_copy
asyncio.run(open_later())
"""


async def open_later(place: Place, migrations: Sequence[Migration] = LATER) -> Database:
    return await open_store(place.folder, url=place.url, migrations=migrations)


def start(place: Place, program: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, str(place.folder), *arguments]
    environment = {**os.environ, **({"STORE_URL": place.url} if place.url else {})}
    return subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def fill(place: Place) -> None:
    store = await place.open()
    await store.write(("INSERT INTO chores VALUES ('c', 1)", ()))
    await store.close()


async def test_a_new_store_has_the_newest_version_and_says_who_made_it(place: Place) -> None:
    store = await place.open()
    rows = await store.read("SELECT number, name, program FROM schema_version ORDER BY number")
    assert [row[:2] for row in rows] == [(each.number, each.name) for each in MIGRATIONS]
    assert {row[2] for row in rows} == {(await store.read_version()).applied[0].program}
    await store.close()
    assert list(place.folder.glob("*.before-*")) == []


async def test_an_older_store_is_brought_forward_with_its_rows(place: Place) -> None:
    await fill(place)
    store = await open_later(place)
    assert (await store.read_version()).number == NEWEST + 1
    assert await store.read("SELECT name, done FROM chores") == [("c", 2)]
    await store.close()


@pytest.mark.requirement("U1")
async def test_a_newer_store_is_refused_for_writing_and_for_reading_and_stays_as_it_is(place: Place) -> None:
    await (await open_later(place)).close()
    for read_only in (False, True):
        with pytest.raises(StoreUnavailable, match=rf"schema version {NEWEST + 1}, made by Gristmill .* up to {NEWEST}: use"):
            await open_store(place.folder, url=place.url, read_only=read_only)
    store = await open_later(place)
    assert (await store.read_version()).number == NEWEST + 1
    await store.close()


async def test_a_store_that_is_only_read_keeps_its_version(place: Place) -> None:
    await fill(place)
    store = await open_store(place.folder, url=place.url, read_only=True, migrations=LATER)
    assert (await store.read_version()).number == NEWEST
    assert await store.read("SELECT at FROM chores") == [(1,)]
    await store.close()
    assert list(place.folder.glob("*.before-*")) == []


async def test_tables_that_are_not_ours_are_not_used(place: Place) -> None:
    store = await place.open()
    await store.write(
        ("DROP TABLE schema_version", ()), ("DROP TABLE sessions", ()), ("CREATE TABLE sessions (user_id TEXT)", ())
    )
    await store.close()
    with pytest.raises(StoreUnavailable, match="was not made by Gristmill"):
        await place.open()


@pytest.mark.requirement("U2")
async def test_a_migration_that_fails_changes_nothing(place: Place) -> None:
    await fill(place)
    broken = Migration(number=NEWEST + 2, name="broken", statements=("CREATE TABLE new (a TEXT)", "UPDATE nowhere SET a = 1"))
    with pytest.raises(StoreUnavailable, match=f"could not be brought to schema version {NEWEST + 2}: .*nowhere"):
        await open_later(place, (*LATER, broken))
    store = await place.open()
    assert (await store.read_version()).number == NEWEST
    assert await store.read("SELECT at FROM chores") == [(1,)]
    await store.close()


@pytest.mark.parametrize("is_new", [True, False])
async def test_several_processes_that_open_a_store_at_once_bring_it_forward_once(place: Place, is_new: bool) -> None:
    if not is_new:
        await fill(place)
    with ExitStack() as stack:
        started = [stack.enter_context(start(place, OPEN_AT_ONCE)) for _ in range(5)]
        for each in started:
            assert each.stdout is not None
            assert each.stdout.readline() == "here\n"
        answers = await asyncio.gather(*(asyncio.to_thread(each.communicate, "go\n", 60) for each in started))
    assert [(each.returncode, answer[0]) for each, answer in zip(started, answers, strict=True)] == [(0, f"{NEWEST + 1}\n")] * 5
    store = await open_later(place)
    assert await store.read("SELECT name, done FROM chores") == ([] if is_new else [("c", 2)])
    await store.close()


@pytest.mark.requirement("U2")
@pytest.mark.parametrize("at", ["copy", "ALTER TABLE", "UPDATE chores", "INSERT INTO schema_version", "COMMIT"])
async def test_a_migration_that_is_killed_leaves_the_old_version(place: Place, at: str) -> None:
    if at == "copy" and place.url is not None:
        at = "CREATE TABLE IF NOT EXISTS schema_version"  # there is no copy to be killed in
    await fill(place)
    with start(place, STOP, at) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        process.kill()
    store = await place.open()
    assert (await store.read_version()).number == NEWEST
    assert await store.read("SELECT name, at FROM chores") == [("c", 1)]
    await store.close()
    again = await open_later(place)
    assert await again.read("SELECT name, done FROM chores") == [("c", 2)]
    await again.close()
    assert list(place.folder.glob("*.part")) == []


async def test_the_first_release_which_looks_at_no_version_refuses_the_store_by_its_tables(place: Place) -> None:
    """At each start 0.1.0 creates what is missing, in one transaction."""
    store = await place.open()
    with pytest.raises(StoreUnavailable, match=r"no such column|does not exist"):
        await store.write(*((statement, ()) for statement in FIRST.list_statements("SQLite")))
    await store.close()
