"""Opens the secrets that the user gave to Gristmill, and says which of those that a configuration names are missing."""

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import Struct

from gristmill.config.sections.servers_section import SECRET_REFERENCE
from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.upstream.login.kept_secrets import KeptSecrets, split_secret_name
from gristmill.upstream.login.system_keyring import SystemKeyring, find_keyring
from gristmill.upstream.secret_references import SecretReferences, report_no_keyring

__all__ = ["KeptSecrets", "NamedSecret", "list_named_secrets", "open_secret_references", "open_secrets", "split_secret_name"]


class NamedSecret(Struct, frozen=True, kw_only=True):
    """A secret that the configuration refers to. Its value is never here."""

    reference: str
    used_by: str
    is_set: bool


@cache
def load_keyring() -> SystemKeyring | None:
    """Returns the keyring of this host. Searching for it takes time: only a reference to it pays for that."""
    return find_keyring()


def open_secrets(state: Path) -> KeptSecrets:
    """Opens the secrets of a state folder and of this host's keyring."""
    return KeptSecrets(state / "secrets", load_keyring())


def read_secret(state: Path, service: str, name: str) -> str | None:
    """Reads one secret, wherever it is kept.

    Raises:
        ConfigError: it cannot be read, or there is none and no keyring either.
    """
    secrets = open_secrets(state)
    found = secrets.read(service, name)
    return report_no_keyring(service, name) if found is None and load_keyring() is None else found


def open_secret_references(state: Path) -> SecretReferences:
    """Opens what resolves references in the environment and in the kept secrets."""
    return SecretReferences(environ=dict(os.environ), keyring=lambda service, name: read_secret(state, service, name))


def list_named_secrets(config: Config) -> tuple[NamedSecret, ...]:
    """Returns every secret that servers refer to, with the first server that uses it, and whether it has a value."""
    references = open_secret_references(config.state_dir)
    found: dict[str, NamedSecret] = {}
    for server, reference in _find_references(config):
        if reference not in found:
            found[reference] = NamedSecret(reference=reference, used_by=server, is_set=_is_set(references, reference))
    return tuple(found.values())


def _find_references(config: Config) -> Iterator[tuple[str, str]]:
    for name, server in config.servers.items():
        text = json.dumps(server.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
        yield from ((name, found[0]) for found in SECRET_REFERENCE.finditer(text))


def _is_set(references: SecretReferences, reference: str) -> bool:
    try:
        references.resolve(reference)
    except ConfigError:
        return False
    return True
