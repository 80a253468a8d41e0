"""Tokens of a login in an encrypted file, for hosts without a keyring."""

from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from gristmill.atomic_file import write_atomically
from gristmill.errors import ConfigError


class EncryptedTokens:
    """Tokens in a file that is encrypted with ``key``; for hosts without a keyring."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._fernet = Fernet(key)

    def read(self) -> str | None:
        """Reads and decrypts the file; returns None if there is no file.

        Raises:
            ConfigError: the file was encrypted with another key.
        """
        try:
            return self._fernet.decrypt(self._path.read_bytes()).decode()
        except FileNotFoundError:
            return None
        except InvalidToken:
            raise ConfigError(f"{self._path} was encrypted with another key; log in again after removing it") from None

    def write(self, text: str) -> None:
        """Encrypts the text and writes it atomically, readable by us only."""
        write_atomically(self._path, [self._fernet.encrypt(text.encode())])

    def forget(self) -> bool:
        """Deletes the file; returns whether there was one."""
        known = self._path.exists()
        self._path.unlink(missing_ok=True)
        return known


def load_key(path: Path) -> bytes:
    """Returns the key in ``path``; at first use a new key is written there, readable by us only."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        key = Fernet.generate_key()
        write_atomically(path, [key])
        return key
