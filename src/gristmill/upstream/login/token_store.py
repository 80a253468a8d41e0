"""Stores for the tokens of a login: the keyring, or an encrypted file. Each holds one text per server."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class TokenStore(Protocol):
    """Holds one text for one server."""

    def read(self) -> str | None:
        """Returns the text that was written last, or None."""
        ...

    def write(self, text: str) -> None:
        """Replaces the text."""
        ...

    def forget(self) -> bool:
        """Deletes the text; returns whether there was one."""
        ...


class KeyringBackend(Protocol):
    """A keyring: secrets by service and name."""

    def get(self, service: str, name: str) -> str | None:
        """Returns the secret, or None."""
        ...

    def put(self, service: str, name: str, secret: str) -> None:
        """Stores a secret."""
        ...

    def remove(self, service: str, name: str) -> None:
        """Deletes a secret."""
        ...


class KeyringTokens:
    """Tokens in the keyring of the desktop."""

    def __init__(self, server: str, keyring: KeyringBackend) -> None:
        self._name = f"{server}.oauth"
        self._keyring = keyring

    def read(self) -> str | None:
        """Reads the text from the keyring."""
        return self._keyring.get("gristmill", self._name)

    def write(self, text: str) -> None:
        """Writes the text to the keyring."""
        self._keyring.put("gristmill", self._name, text)

    def forget(self) -> bool:
        """Deletes the text from the keyring; returns whether there was one."""
        known = self.read() is not None
        if known:
            self._keyring.remove("gristmill", self._name)
        return known


def choose_token_store(folder: Path, keyring: KeyringBackend | None) -> Callable[[str], TokenStore]:
    """Returns a function that opens a server's store: in the keyring if there is one, otherwise encrypted under ``folder``."""
    if keyring is not None:
        return lambda server: KeyringTokens(server, keyring)

    return lambda server: open_encrypted_text(folder / f"{server}.tokens")


def open_encrypted_text(path: Path) -> TokenStore:
    """Opens a text in an encrypted file; its key lies in the same folder."""
    # Imported here: it loads the cryptography package, and only a login needs it.
    from gristmill.upstream.login.encrypted_tokens import EncryptedTokens, load_key

    return EncryptedTokens(path, load_key(path.parent / "key"))
