"""The store that the configuration asks for."""

from collections.abc import Sequence
from pathlib import Path

from gristmill.errors import ConfigError
from gristmill.store.database import Database
from gristmill.store.driver import Driver
from gristmill.store.sqlite import Sqlite, Sync

FILE = "gristmill.db"


async def open_store(
    folder: Path, tables: Sequence[str], *, url: str | None = None, sync: Sync = "normal", read_only: bool = False
) -> Database:
    """Open the store at ``url``, or the SQLite file in ``folder``, with the ``tables`` that the rooms need.

    With ``read_only`` nothing is made, not even a table.

    Raises:
        StoreUnavailable: it cannot be opened.
        ConfigError: ``url`` is no address of a PostgreSQL database, or its driver is not installed.
    """
    driver = _postgres(url) if url else Sqlite(folder / FILE, sync=sync, read_only=read_only)
    return await Database(driver, () if read_only else tables, read_only=read_only).open()


def _postgres(url: str) -> Driver:
    try:
        from gristmill.store.postgres import Postgres  # an extra, and slow to import
    except ImportError:
        raise ConfigError("store.url needs the PostgreSQL driver: pip install 'gristmill[postgres]'") from None
    return Postgres(url)
