"""Where the tokens of a login are kept: in the keyring, or in an encrypted file. One text per server."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from gristmill.errors import ConfigError


class TokenStore(Protocol):
    """Keeps one text for one server."""

    def read(self) -> str | None:
        """What was written last, or nothing."""
        ...

    def write(self, text: str) -> None:
        """Keep ``text`` instead."""
        ...

    def forget(self) -> bool:
        """Keep nothing any more; whether there was something."""
        ...


class Ring(Protocol):
    """A keyring: entries by service and name."""

    def get(self, service: str, name: str) -> str | None:
        """The secret, or nothing."""
        ...

    def put(self, service: str, name: str, secret: str) -> None:
        """Keep a secret."""
        ...

    def remove(self, service: str, name: str) -> None:
        """Keep it no more."""
        ...


class KeyringTokens:
    """Tokens in the keyring of the desktop."""

    def __init__(self, server: str, keyring: Ring) -> None:
        self._name = f"{server}.oauth"
        self._keyring = keyring

    def read(self) -> str | None:
        """From the keyring."""
        return self._keyring.get("gristmill", self._name)

    def write(self, text: str) -> None:
        """To the keyring."""
        self._keyring.put("gristmill", self._name, text)

    def forget(self) -> bool:
        """Out of the keyring."""
        known = self.read() is not None
        if known:
            self._keyring.remove("gristmill", self._name)
        return known


class EncryptedTokens:
    """Tokens in a file that only ``key`` opens; for hosts without a keyring."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._fernet = _fernet(key)

    def read(self) -> str | None:
        """Decrypted.

        Raises:
            ConfigError: the file was not written with this key.
        """
        from cryptography.fernet import InvalidToken

        try:
            return self._fernet.decrypt(self._path.read_bytes()).decode()
        except FileNotFoundError:
            return None
        except InvalidToken:
            raise ConfigError(f"{self._path} was encrypted with another key; log in again after removing it") from None

    def write(self, text: str) -> None:
        """Encrypted, readable only by us, at once or not at all."""
        _replace(self._path, self._fernet.encrypt(text.encode()))

    def forget(self) -> bool:
        """Remove the file."""
        known = self._path.exists()
        self._path.unlink(missing_ok=True)
        return known


def choose_tokens(folder: Path, keyring: Ring | None) -> Callable[[str], TokenStore]:
    """Where each server's tokens are kept: in the keyring if there is one, else encrypted under ``folder``."""
    if keyring is not None:
        return lambda server: KeyringTokens(server, keyring)
    return lambda server: EncryptedTokens(folder / f"{server}.tokens", load_key(folder / "key"))


def load_key(path: Path) -> bytes:
    """The key in ``path``; made at first use, readable only by us."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        from cryptography.fernet import Fernet

        key = Fernet.generate_key()
        _replace(path, key)
        return key


def _fernet(key: bytes) -> Any:
    # Loading the library takes longer than a whole search: only a login needs it.
    from cryptography.fernet import Fernet

    return Fernet(key)


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)  # mode 0600 from the start
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(name).replace(path)
