"""The one secret of the ledger: a key file that only its owner may read, or a key from the configuration; all else is derived."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from gristmill.errors import ConfigError

FILE = "ledger.key"
SHORTEST = 32


def load_key(folder: Path, configured: str | None = None, *, make: bool = True) -> bytes:
    """The master key: ``configured`` if given (several machines share it so), else the file in ``folder``, made if missing.

    Who only reads asks not to ``make`` one: a new key would match no signature.

    Raises:
        ConfigError: the key is too short or missing, or the file can be read by others.
    """
    key = configured.encode() if configured is not None else _from_file(folder / FILE, make)
    if len(key) < SHORTEST:
        raise ConfigError(f"the ledger's key is shorter than {SHORTEST} bytes; make one with `openssl rand -hex 32`")
    return key


def derive(master: bytes, purpose: str) -> bytes:
    """A key for one purpose; knowing it tells nothing of the others."""
    return hmac.digest(master, f"gristmill {purpose}".encode(), hashlib.sha256)


def name_of(key: bytes) -> str:
    """A short public name of a key, to tell a wrong key from a forgery."""
    return hashlib.sha256(b"name " + key).hexdigest()[:8]


def _from_file(path: Path, make: bool) -> bytes:
    if not path.exists():
        if not make:
            raise ConfigError(f"{path} is missing: without the key that signed the records they cannot be checked")
        _make(path)
    if path.stat().st_mode & 0o077:
        raise ConfigError(f"{path} can be read by others: chmod 600 it, and make a new one if others had access")
    return path.read_bytes().strip()


def _make(path: Path) -> None:
    """Make the file whole or not at all; when two processes start at once both use the first one's."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_hex(32).encode())
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass  # the other one was first
    finally:
        draft.unlink()
