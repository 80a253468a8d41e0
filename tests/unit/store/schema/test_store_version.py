"""Which stores are taken for which version, and which are refused."""

import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from gristmill.errors import StoreUnavailable
from gristmill.store.driver import StoreStatements
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.store_version import AppliedMigration, StoreVersion, check_version, read_version
from gristmill.store.sqlite import Sqlite

MIGRATIONS = (
    Migration(number=1, name="first", statements=("CREATE TABLE IF NOT EXISTS things (name TEXT, size INTEGER)",)),
    Migration(number=2, name="second", statements=({"SQLite": "SELECT 1", "PostgreSQL": "SELECT 2"},)),
)


@pytest.fixture
def connection() -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as opened:
        yield opened


def read(connection: sqlite3.Connection) -> StoreVersion:
    driver = Sqlite(Path("unused"))
    return read_version(StoreStatements(connection, driver), driver, MIGRATIONS[0])


def applied(*pairs: tuple[int, str]) -> StoreVersion:
    return StoreVersion(applied=tuple(AppliedMigration(number=number, name=name, program="9.9.9") for number, name in pairs))


def test_a_store_without_our_tables_is_empty_whatever_else_it_has(connection: sqlite3.Connection) -> None:
    assert read(connection) == StoreVersion(is_empty=True)
    connection.execute("CREATE TABLE others (name TEXT)")
    assert read(connection) == StoreVersion(is_empty=True)


def test_tables_without_a_version_are_those_of_the_first_release(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE things (size INTEGER, name TEXT)")
    assert read(connection) == StoreVersion(is_empty=False)


@pytest.mark.parametrize("columns", ["name TEXT", "name TEXT, size INTEGER, color TEXT", "id TEXT"])
def test_a_table_of_our_name_with_other_columns_is_refused(connection: sqlite3.Connection, columns: str) -> None:
    connection.execute(f"CREATE TABLE things ({columns})")
    with pytest.raises(StoreUnavailable, match="the table things of the store was not made by Gristmill"):
        read(connection)


def test_a_store_that_is_newer_is_refused_by_the_names_of_both_versions() -> None:
    with pytest.raises(StoreUnavailable, match=r"schema version 3, made by Gristmill 9\.9\.9; .* up to 2: use Gristmill 9\.9\.9"):
        check_version(applied((1, "first"), (2, "second"), (3, "third")), MIGRATIONS)


def test_a_store_of_another_line_of_versions_is_refused() -> None:
    check_version(applied((1, "first"), (2, "second")), MIGRATIONS)
    check_version(applied((1, "first")), MIGRATIONS)
    with pytest.raises(StoreUnavailable, match="another line of versions"):
        check_version(applied((1, "first"), (2, "other")), MIGRATIONS)


def test_a_statement_may_differ_between_databases() -> None:
    assert MIGRATIONS[1].list_statements("PostgreSQL") == ("SELECT 2",)
