"""The ledger's master key: from a file that only its owner may read, or from the configuration. All other keys derive from it."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path

from gristmill.errors import ConfigError

KEY_FILE = "ledger.key"
SHORTEST_KEY_BYTES = 32


def load_key(folder: Path, configured: str | None = None, *, make: bool = True) -> bytes:
    """Returns the master key: ``configured`` if given (several machines can share it), else the file in ``folder``.

    A missing file is created unless ``make`` is false; a caller who only reads passes false, as a new key matches no signature.

    Raises:
        ConfigError: the key is too short or missing, or the file can be read by others.
    """
    key = configured.encode() if configured is not None else _read_key_file(folder / KEY_FILE, make)
    if len(key) < SHORTEST_KEY_BYTES:
        raise ConfigError(f"the ledger's key is shorter than {SHORTEST_KEY_BYTES} bytes; make one with `openssl rand -hex 32`")
    return key


def derive_key(master: bytes, purpose: str) -> bytes:
    """Derives a key for one purpose; knowing it reveals nothing about the other keys."""
    return hmac.digest(master, f"gristmill {purpose}".encode(), hashlib.sha256)


def name_key(key: bytes) -> str:
    """Returns a short public name of a key, which tells a wrong key from a forged signature."""
    return hashlib.sha256(b"name " + key).hexdigest()[:8]


def _read_key_file(path: Path, make: bool) -> bytes:
    if not path.exists():
        if not make:
            raise ConfigError(f"{path} is missing: without the key that signed the records they cannot be checked")
        _create_key_file(path)
    if path.stat().st_mode & 0o077:
        raise ConfigError(f"{path} can be read by others: chmod 600 it, and make a new one if others had access")
    return path.read_bytes().strip()


def _create_key_file(path: Path) -> None:
    """Creates the file whole or not at all; when two processes start at the same time, both use the file created first."""
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
        pass  # another process created it first
    finally:
        draft.unlink()
