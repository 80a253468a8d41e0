"""The keyring of this host, if the optional `keyring` package is installed and finds one."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gristmill.errors import ConfigError


class SystemKeyring:
    """Reads and writes entries of the keyring, and translates its errors to ours."""

    def __init__(self, module: Any) -> None:
        self._module = module  # Any: an optional package, which is not installed when types are checked

    def get(self, service: str, name: str) -> str | None:
        """Returns the secret, or None if there is none.

        Raises:
            ConfigError: the keyring is locked or broken.
        """
        try:
            return self._module.get_password(service, name)
        except self._module.errors.KeyringError as error:
            raise ConfigError(f"the keyring cannot be read: {type(error).__name__}") from None

    def put(self, service: str, name: str, secret: str) -> None:
        """Stores a secret.

        Raises:
            ConfigError: the keyring is locked or broken.
        """
        try:
            self._module.set_password(service, name, secret)
        except self._module.errors.KeyringError as error:
            raise ConfigError(f"the keyring cannot be written: {type(error).__name__}") from None

    def remove(self, service: str, name: str) -> None:
        """Deletes a secret.

        Raises:
            ConfigError: the keyring is locked or broken.
        """
        try:
            self._module.delete_password(service, name)
        except self._module.errors.KeyringError as error:
            raise ConfigError(f"the keyring cannot be written: {type(error).__name__}") from None


def find_keyring() -> SystemKeyring | None:
    """Returns the keyring, or None on a host without a usable one."""
    if find_spec("keyring") is None:
        return None
    module = import_module("keyring")
    # Without a desktop the package offers a backend that fails on every use; its priority says so.
    usable = getattr(module.get_keyring(), "priority", 0) > 0
    return SystemKeyring(module) if usable else None
