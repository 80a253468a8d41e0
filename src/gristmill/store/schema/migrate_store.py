"""Brings a store to the newest version of the schema: in one transaction, by one process at a time, after a copy was kept."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from gristmill.errors import StoreUnavailable
from gristmill.store.base import Transaction
from gristmill.store.driver import Driver, StoreStatements
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.store_version import VERSION_TABLE, check_version, read_program_version, read_version

log = logging.getLogger(__name__)

_CREATE_VERSIONS = f"""CREATE TABLE IF NOT EXISTS {VERSION_TABLE} (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at DOUBLE PRECISION NOT NULL, program TEXT NOT NULL)"""
_ADD_VERSION = f"INSERT INTO {VERSION_TABLE} (number, name, applied_at, program) VALUES (?, ?, ?, ?)"  # noqa: S608 - our own name


def migrate_store(driver: Driver, migrations: Sequence[Migration], clock: Callable[[], float] = time.time) -> None:
    """Runs the migrations that the store lacks; none if another process ran them while this one waited for its turn.

    Raises:
        StoreUnavailable: the store is newer than ``migrations``, no copy could be kept, or a statement failed.
    """
    try:
        with closing(driver.connect_to_migrate()) as connection:
            _migrate(StoreStatements(connection, driver), driver, migrations, clock)
    except (*driver.failures, OSError) as error:
        raise StoreUnavailable(
            f"the store could not be brought to schema version {migrations[-1].number}: {driver.describe_error(error)}"
        ) from None


def _migrate(transaction: StoreStatements, driver: Driver, migrations: Sequence[Migration], clock: Callable[[], float]) -> None:
    for statement in driver.begin_statements():
        transaction.run(statement)
    try:
        # Read again: another process may have migrated the store since this one looked.
        found = read_version(transaction, driver, migrations[0])
        check_version(found, migrations)
        lacking = migrations[found.number :]
        if lacking and not found.is_empty:
            log.warning(
                "the %s store goes from schema version %d to %d: %s",
                driver.name, max(found.number, 1), lacking[-1].number, driver.keep_copy(lacking[-1].number),
            )  # fmt: skip
        _apply_migrations(transaction, driver, lacking, clock())
        transaction.run("COMMIT")
    except BaseException:
        _roll_back(transaction, driver)
        raise
    if lacking:
        driver.remove_old_copies()


def _apply_migrations(transaction: Transaction, driver: Driver, migrations: Sequence[Migration], now: float) -> None:
    if not migrations:
        return
    transaction.run(_CREATE_VERSIONS)
    program = read_program_version()
    for migration in migrations:
        for statement in migration.list_statements(driver.name):
            transaction.run(statement)
        transaction.run(_ADD_VERSION, migration.number, migration.name, now, program)


def _roll_back(transaction: Transaction, driver: Driver) -> None:
    try:
        transaction.run("ROLLBACK")
    except driver.failures:
        pass  # the connection is gone, or a full disk has undone the transaction already
