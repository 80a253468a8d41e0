"""Reads and writes configuration files, Gristmill's own and those of MCP clients; a write happens completely or not at all."""

import os
from collections.abc import Callable
from pathlib import Path

from gristmill.atomic_file import replace_file
from gristmill.errors import ConfigError

MAX_BYTES = 16_000_000
"""The largest file that is read as a configuration."""
NEW_FILE_MODE = 0o600
"""A client's configuration may hold secrets, so only the owner may read a new file."""


def resolve_file(path: Path, *, within: Path | None = None) -> Path:
    """Returns the file that ``path`` leads to after following links; it must lie in the folder ``within`` if that is given.

    A project's folder may come from a stranger: a link in it must not make Gristmill write to another place.

    Raises:
        ConfigError: the path leads out of ``within``, in a circle, or to something that is not a file.
    """
    try:
        real = path.expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise ConfigError(f"cannot follow {path}: {getattr(error, 'strerror', None) or error}") from None
    if within is not None and not real.is_relative_to(within.resolve()):
        raise ConfigError(f"{path} is a link out of {within}, to {real}: nothing was read or written")
    if real.exists() and not real.is_file():
        raise ConfigError(f"{real} is not a file")
    return real


def read_bytes(path: Path) -> bytes | None:
    """Returns the content of ``path``, or None when there is no such file.

    Raises:
        ConfigError: the file cannot be read, or is too large for a configuration.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} is larger than {MAX_BYTES:,} bytes: not a configuration")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None


def write_file_atomically(
    path: Path, content: bytes, *, new_mode: int = NEW_FILE_MODE, check: Callable[[Path], object] | None = None
) -> None:
    """Replaces the content of ``path``, completely or not at all; ``check`` gets the path of a draft first and may raise.

    An existing file keeps its mode, and its owner where the process may set it. A process that reads the file at the same time
    sees either the old or the new content.

    Raises:
        ConfigError: the file cannot be written; the old content is untouched.
    """
    real = resolve_file(path)
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(real, sync=True) as file:
            file.write(content)
            file.flush()
            if check is not None:
                check(Path(file.name))
            _copy_owner_and_mode(real, file.name, new_mode)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None


def _copy_owner_and_mode(real: Path, draft: str, new_mode: int) -> None:
    try:
        before = real.stat()
    except FileNotFoundError:
        os.chmod(draft, new_mode)
        return
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.chown(draft, before.st_uid, before.st_gid)
        except PermissionError:
            pass  # only root may change the owner; the mode below then holds for the present owner
    os.chmod(draft, before.st_mode & 0o7777)
