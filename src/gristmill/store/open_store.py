"""Opens the store that the configuration asks for."""

from collections.abc import Sequence
from pathlib import Path

from gristmill.errors import ConfigError
from gristmill.store.database import Database
from gristmill.store.driver import Driver
from gristmill.store.schema.migration import Migration
from gristmill.store.schema.migrations import MIGRATIONS
from gristmill.store.sqlite import Sqlite, Sync

FILE_NAME = "gristmill.db"


async def open_store(
    folder: Path,
    *,
    url: str | None = None,
    sync: Sync = "normal",
    read_only: bool = False,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> Database:
    """Opens the store at ``url``, or the SQLite file in ``folder``, and brings its schema to the newest version.

    With ``read_only`` nothing is created or changed.

    Raises:
        StoreUnavailable: it cannot be opened, is newer than this program, or could not be migrated.
        ConfigError: ``url`` is not the address of a PostgreSQL database, or its driver is not installed.
    """
    driver = _load_postgres(url) if url else Sqlite(folder / FILE_NAME, sync=sync, read_only=read_only)
    return await Database(driver, migrations, read_only=read_only).open()


def _load_postgres(url: str) -> Driver:
    try:
        from gristmill.store.postgres import Postgres  # an optional dependency, and slow to import
    except ImportError:
        raise ConfigError("store.url needs the PostgreSQL driver: pip install 'gristmill[postgres]'") from None
    return Postgres(url)
