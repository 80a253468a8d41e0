"""Where the tokens of a login are kept: in the keyring, or in an encrypted file. One text per server."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from cryptography.fernet import Fernet, InvalidToken

from gristmill.errors import ConfigError
from gristmill.upstream.keyrings import SystemKeyring


class TokenStore(Protocol):
    """Keeps one text for one server."""

    def read(self) -> str | None:
        """What was written last, or nothing."""
        ...

    def write(self, text: str) -> None:
        """Keep ``text`` instead."""
        ...


class KeyringTokens:
    """Tokens in the keyring of the desktop; its two functions come in, so that no import is needed here."""

    def __init__(self, server: str, *, get: Callable[[str, str], str | None], put: Callable[[str, str, str], None]) -> None:
        self._name = f"{server}.oauth"
        self._get = get
        self._put = put

    def read(self) -> str | None:
        """From the keyring."""
        return self._get("gristmill", self._name)

    def write(self, text: str) -> None:
        """To the keyring."""
        self._put("gristmill", self._name, text)


class EncryptedTokens:
    """Tokens in a file that only ``key`` opens; for hosts without a keyring."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._path = path
        self._fernet = Fernet(key)

    def read(self) -> str | None:
        """Decrypted.

        Raises:
            ConfigError: the file was not written with this key.
        """
        try:
            return self._fernet.decrypt(self._path.read_bytes()).decode()
        except FileNotFoundError:
            return None
        except InvalidToken:
            raise ConfigError(f"{self._path} was encrypted with another key; log in again after removing it") from None

    def write(self, text: str) -> None:
        """Encrypted, readable only by us, at once or not at all."""
        _replace(self._path, self._fernet.encrypt(text.encode()))


def choose_tokens(folder: Path, keyring: SystemKeyring | None) -> Callable[[str], TokenStore]:
    """Where each server's tokens are kept: in the keyring if there is one, else encrypted under ``folder``."""
    if keyring is not None:
        return lambda server: KeyringTokens(server, get=keyring.get, put=keyring.put)
    return lambda server: EncryptedTokens(folder / f"{server}.tokens", load_key(folder / "key"))


def load_key(path: Path) -> bytes:
    """The key in ``path``; made at first use, readable only by us."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        key = Fernet.generate_key()
        _replace(path, key)
        return key


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)  # mode 0600 from the start
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    Path(name).replace(path)
