"""The store that the configuration asks for."""

from collections.abc import Sequence
from pathlib import Path

from gristmill.store.database import Database
from gristmill.store.sqlite import Sqlite


async def open_store(folder: Path, tables: Sequence[str]) -> Database:
    """Open the store in ``folder`` with the ``tables`` that the rooms need.

    Raises:
        StoreUnavailable: it cannot be opened.
    """
    return await Database(Sqlite(folder / "gristmill.db"), tables).open()
