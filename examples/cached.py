"""Generated databases that are too large to make at every start: made once, kept in the user's cache folder, never changed."""

import fcntl
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """Where generated databases are kept: outside the checkout, and free to be deleted."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "gristmill" / "examples"


def made_once(name: str, build: Callable[[sqlite3.Connection], None], folder: Path | None = None) -> Path:
    """The file ``name``, built if it is not there. Servers that start together wait for the one that builds."""
    folder = folder or cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path, draft = folder / name, folder / f"{name}.draft"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            draft.unlink(missing_ok=True)
            connection = sqlite3.connect(draft)
            # Whoever is interrupted starts again: a draft needs no journal, and one flush when it is whole.
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;")
            build(connection)
            connection.close()
            with draft.open("rb") as whole:
                os.fsync(whole.fileno())
            draft.rename(path)
    return path


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot change the file."""
    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
