"""The keyring of this host, if the optional `keyring` package is installed and finds one."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gristmill.errors import ConfigError


class SystemKeyring:
    """Reads and writes entries; its errors become ours."""

    def __init__(self, module: Any) -> None:
        self._module = module  # Any: an optional package, not there when types are checked

    def get(self, service: str, name: str) -> str | None:
        """The secret, or nothing.

        Raises:
            ConfigError: the keyring is locked or broken.
        """
        try:
            return self._module.get_password(service, name)
        except self._module.errors.KeyringError as error:
            raise ConfigError(f"the keyring cannot be read: {type(error).__name__}") from None

    def put(self, service: str, name: str, secret: str) -> None:
        """Keep a secret.

        Raises:
            ConfigError: the keyring is locked or broken.
        """
        try:
            self._module.set_password(service, name, secret)
        except self._module.errors.KeyringError as error:
            raise ConfigError(f"the keyring cannot be written: {type(error).__name__}") from None

    def remove(self, service: str, name: str) -> None:
        """Keep a secret no more.

        Raises:
            ConfigError: the keyring is locked or broken.
        """
        try:
            self._module.delete_password(service, name)
        except self._module.errors.KeyringError as error:
            raise ConfigError(f"the keyring cannot be written: {type(error).__name__}") from None


def find_keyring() -> SystemKeyring | None:
    """The keyring, or nothing on a host without a usable one."""
    if find_spec("keyring") is None:
        return None
    module = import_module("keyring")
    # Without a desktop the package offers a backend that fails on every use; its priority says so.
    usable = getattr(module.get_keyring(), "priority", 0) > 0
    return SystemKeyring(module) if usable else None
