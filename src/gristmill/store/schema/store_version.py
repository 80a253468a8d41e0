"""Reads which version of the schema a store has, and refuses stores that this program would misread."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.metadata import version

from msgspec import Struct

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Transaction
from gristmill.store.driver import Driver
from gristmill.store.schema.migration import Migration
from gristmill.store.sqlite import Sqlite

VERSION_TABLE = "schema_version"
_APPLIED = f"SELECT number, name, program FROM {VERSION_TABLE} ORDER BY number"  # noqa: S608 - our own name


class AppliedMigration(Struct, frozen=True, kw_only=True):
    """A migration that a store has gone through, and the version of the program that did it."""

    number: int
    name: str
    program: str


class StoreVersion(Struct, frozen=True, kw_only=True):
    """The migrations that a store has gone through. A store of 0.1.0 has tables (it is not empty) and no version."""

    applied: tuple[AppliedMigration, ...] = ()
    is_empty: bool = False

    @property
    def number(self) -> int:
        """Returns the version of the schema; 0 where no version is recorded."""
        return self.applied[-1].number if self.applied else 0


def read_version(transaction: Transaction, driver: Driver, first: Migration) -> StoreVersion:
    """Returns the version of a store; ``first`` tells which tables a store without a version may have.

    Raises:
        StoreUnavailable: the store has no version, and a table that Gristmill 0.1.0 did not make.
    """
    tables = _group_columns(transaction.run(driver.tables_query))
    if VERSION_TABLE in tables:
        rows = transaction.run(_APPLIED)
        return StoreVersion(
            applied=tuple(AppliedMigration(number=int(row[0] or 0), name=str(row[1]), program=str(row[2])) for row in rows)
        )
    return StoreVersion(is_empty=not _has_first_tables(tables, first))


def check_version(found: StoreVersion, migrations: Sequence[Migration]) -> None:
    """Checks that this program knows every migration of the store.

    Raises:
        StoreUnavailable: the store is newer than this program, or was made by a different line of versions.
    """
    newest = migrations[-1].number
    if found.number > newest:
        program, ours = found.applied[-1].program, read_program_version()
        raise StoreUnavailable(
            f"the store has schema version {found.number}, made by Gristmill {program}; this is Gristmill {ours}, which "
            f"knows versions up to {newest}: use Gristmill {program} or newer, or go back to a copy from before the upgrade"
        )
    for known, made in zip(migrations, found.applied, strict=False):
        if (known.number, known.name) != (made.number, made.name):
            raise StoreUnavailable(
                f"schema version {made.number} of the store is {made.name!r}, made by Gristmill {made.program}; here it is "
                f"{known.name!r}: the store belongs to another line of versions; use the program that made it"
            )


def read_program_version() -> str:
    """Returns the version of this program, for records and messages."""
    return version("gristmill")


def _has_first_tables(tables: Mapping[str, frozenset[str]], first: Migration) -> bool:
    """Returns whether there are tables of 0.1.0; a table of the same name with other columns is not one of them."""
    known = {name: columns for name, columns in _list_made_tables(first).items() if name in tables}
    for name, columns in known.items():
        if tables[name] != columns:
            differ = ", ".join(sorted(tables[name] ^ columns))
            raise StoreUnavailable(
                f"the table {name} of the store was not made by Gristmill 0.1.0 or newer (it differs in {differ}): "
                "move the store away, or choose another folder, database or schema"
            )
    return bool(known)


def _list_made_tables(migration: Migration) -> dict[str, frozenset[str]]:
    """Returns the tables that a migration makes, with their columns: found by making them, in memory."""
    with closing(sqlite3.connect(":memory:")) as memory:
        for statement in migration.list_statements(Sqlite.name):
            memory.execute(statement)
        return _group_columns(memory.execute(Sqlite.tables_query).fetchall())


def _group_columns(rows: Sequence[Sequence[object]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for table, column in rows:
        found.setdefault(str(table), set()).add(str(column))
    return {table: frozenset(columns) for table, columns in found.items()}
