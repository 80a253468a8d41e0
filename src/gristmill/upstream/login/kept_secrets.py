"""Secrets that the user gave to Gristmill: in the keyring of this host, or else each in an encrypted file of the state folder."""

import hashlib
from pathlib import Path

from gristmill.errors import ConfigError
from gristmill.upstream.login.token_store import KeyringBackend, TokenStore, open_encrypted_text

SERVICE = "gristmill"
"""The service of names that are given without one."""


class KeptSecrets:
    """Reads and writes secrets by service and name. A file wins over nothing in the keyring, so both may be used."""

    def __init__(self, folder: Path, keyring: KeyringBackend | None) -> None:
        self._folder, self._keyring = folder, keyring

    @property
    def place(self) -> str:
        """Where a new secret is stored, in words."""
        return "the keyring" if self._keyring is not None else f"encrypted files under {self._folder}"

    def read(self, service: str, name: str) -> str | None:
        """Returns the secret, or None.

        Raises:
            ConfigError: the keyring or the file cannot be read.
        """
        found = self._keyring.get(service, name) if self._keyring is not None else None
        return self._open_file(service, name).read() if found is None and self._has_file(service, name) else found

    def write(self, service: str, name: str, secret: str) -> None:
        """Stores a secret in place of an older one.

        Raises:
            ConfigError: it cannot be stored.
        """
        if self._keyring is not None:
            self._keyring.put(service, name, secret)
        try:
            if self._keyring is None:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._open_file(service, name).write(secret)
            elif self._has_file(service, name):
                self._open_file(service, name).forget()
        except OSError as error:
            raise ConfigError(f"the secret cannot be stored under {self._folder}: {error.strerror}") from None

    def forget(self, service: str, name: str) -> bool:
        """Deletes a secret; returns whether there was one."""
        known = self._has_file(service, name) and self._open_file(service, name).forget()
        if self._keyring is not None and self._keyring.get(service, name) is not None:
            self._keyring.remove(service, name)
            known = True
        return known

    def _has_file(self, service: str, name: str) -> bool:
        return self._name_file(service, name).exists()

    def _open_file(self, service: str, name: str) -> TokenStore:
        return open_encrypted_text(self._name_file(service, name))

    def _name_file(self, service: str, name: str) -> Path:
        # A digest: a name may hold any character, also those that a file name may not.
        return self._folder / f"{hashlib.sha256(f'{service}/{name}'.encode()).hexdigest()[:40]}.secret"


def split_secret_name(text: str) -> tuple[str, str]:
    """Returns the service and the name in ``service/name``; a name alone belongs to Gristmill's own service.

    Raises:
        ConfigError: a part is empty, or holds a character that a reference cannot hold.
    """
    service, slash, name = text.partition("/")
    service, name = (service, name) if slash else (SERVICE, text)
    if not service or not name or any(letter in "{}" or not letter.isprintable() for letter in text) or len(text) > 300:
        raise ConfigError("a secret is named NAME or SERVICE/NAME, such as github/token")
    return service, name
