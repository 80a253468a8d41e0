"""Writing a configuration file of ours or of another client: at once or not at all, rights kept, links followed. Ground."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from gristmill.errors import ConfigError

MAX_BYTES = 16_000_000
"""A larger file is no configuration."""
NEW_FILE_MODE = 0o600
"""A client's configuration may hold secrets: a file that we make is for its owner."""


def real_file(path: Path, *, within: Path | None = None) -> Path:
    """The file that ``path`` leads to, links followed; with ``within`` it must not lead out of that folder.

    A project's folder may come from strangers: a link in it must not make us write somewhere else.

    Raises:
        ConfigError: it leads out, in a circle, or to something that is not a file.
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
    """The content of ``path``, nothing when there is no such file.

    Raises:
        ConfigError: it cannot be read, or is too large for a configuration.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ConfigError(f"{path} is larger than {MAX_BYTES:,} bytes: not a configuration")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None


def write_whole(
    path: Path, content: bytes, *, new_mode: int = NEW_FILE_MODE, check: Callable[[Path], object] | None = None
) -> None:
    """Put ``content`` in the place of ``path``, at once or not at all; ``check`` may look at a draft first and raise.

    A file that is there keeps its owner (where we may) and its rights. Whoever reads it meanwhile sees the old or the new one.

    Raises:
        ConfigError: it cannot be written; the old content is untouched.
    """
    real = real_file(path)
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        descriptor, draft = tempfile.mkstemp(prefix=".gristmill-", suffix=real.suffix, dir=real.parent)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if check is not None:
            check(Path(draft))
        _same_rights(real, draft, new_mode)
        os.replace(draft, real)
    except OSError as error:
        Path(draft).unlink(missing_ok=True)
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _same_rights(real: Path, draft: str, new_mode: int) -> None:
    try:
        before = real.stat()
    except FileNotFoundError:
        os.chmod(draft, new_mode)
        return
    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.chown(draft, before.st_uid, before.st_gid)
        except PermissionError:
            pass  # only root may give files away; the rights below still hold for the owner that it has now
    os.chmod(draft, before.st_mode & 0o7777)
