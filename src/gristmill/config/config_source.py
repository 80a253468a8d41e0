"""Where a configuration comes from, so that it can be read again, and whether its files have changed since."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from gristmill.config.sources import list_config_files

if TYPE_CHECKING:
    from gristmill.config.tree import Config

FileStamps = tuple[tuple[int, int, int] | None, ...]
"""Time of change, size and inode of each file; None for one that does not exist."""


class ConfigSource(Struct, frozen=True, kw_only=True):
    """The files of a configuration, how to read it again, and how the files were when it was read first."""

    files: tuple[Path, ...]
    load: "Callable[[], Config]"
    stamps: FileStamps

    @classmethod
    def from_file(cls, file: Path | None, load: "Callable[[Path | None], Config]") -> "ConfigSource":
        """Returns the source of ``load(file)``, which is to be called after this: then no change in between is missed."""
        # Absolute from the start: the working directory may be another one later.
        files = tuple(path.absolute() for path in list_config_files(file))
        return cls(files=files, load=lambda: load(file), stamps=stamp_files(files))


def stamp_files(files: tuple[Path, ...]) -> FileStamps:
    """Returns what shows whether any of ``files`` has changed."""
    return tuple(_stamp_file(path) for path in files)


def _stamp_file(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
