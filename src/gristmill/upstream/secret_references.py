"""Resolves secret references when a server is connected, and masks the resolved values in messages.

The environment and the keyring are parameters; nothing here reads them by itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gristmill.config.sections.servers_section import SECRET_REFERENCE
from gristmill.errors import ConfigError

Keyring = Callable[[str, str], str | None]
"""Takes a service and a name; returns the secret, or None."""

_SHORTEST_MASKED = 4
"""Shorter values are not masked: they are so common that ordinary words would be masked too."""


def report_no_keyring(service: str, name: str) -> str | None:
    """Reports that this host has no keyring: the ``Keyring`` for such hosts.

    Raises:
        ConfigError: always.
    """
    raise ConfigError(
        f"the keyring has no entry {service}/{name}: run `gristmill secrets set {service}/{name}`, or use ${{env:NAME}} instead"
    )


@dataclass(slots=True, kw_only=True)
class SecretReferences:
    """Resolves references, and remembers the values so that ``mask`` can hide them."""

    environ: Mapping[str, str] = field(repr=False)
    keyring: Keyring = field(default=report_no_keyring, repr=False)
    _resolved: set[str] = field(default_factory=set[str], repr=False)

    def resolve(self, text: str) -> str:
        """Replaces each reference in ``text`` by its value.

        Raises:
            ConfigError: a variable is not set, or the keyring has no such entry.
        """
        return SECRET_REFERENCE.sub(lambda found: self._resolve_one(found[1], found[2]), text)

    def mask(self, text: str) -> str:
        """Replaces each value that was resolved before by stars."""
        for value in sorted(self._resolved, key=len, reverse=True):
            text = text.replace(value, "***")
        return text

    def _resolve_one(self, kind: str, name: str) -> str:
        value = self._read_environment(name) if kind == "env" else self._read_keyring(name)
        if len(value) >= _SHORTEST_MASKED:
            self._resolved.add(value)
        return value

    def _read_environment(self, name: str) -> str:
        name, separator, default = name.partition(":-")
        value = self.environ.get(name)
        if value is None and not separator:
            raise ConfigError(f"the environment variable {name} is not set")
        return value if value is not None else default

    def _read_keyring(self, name: str) -> str:
        service, separator, entry = name.partition("/")
        if not separator or not entry:
            raise ConfigError(f"${{keyring:{name}}} is not of the form ${{keyring:service/name}}")
        value = self.keyring(service, entry)
        if value is None:
            raise ConfigError(f"the keyring has no entry {service}/{entry}: run `gristmill secrets set {service}/{entry}`")
        return value
