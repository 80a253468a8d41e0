"""References become values at the moment of connecting, and those values are kept out of every message.

The environment and the keyring come in as parameters; nothing here reads them by itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import field

from gristmill.config.sections.servers_section import REFERENCE
from gristmill.errors import ConfigError
from gristmill.values import dataclass

Keyring = Callable[[str, str], str | None]
"""(service, name) → the secret, or nothing."""

_SHORTEST = 4
"""Shorter values are too common to mask: every second word would become stars."""


def no_keyring(service: str, name: str) -> str | None:
    """A keyring for hosts that have none."""
    raise ConfigError(f"no keyring on this host for {service}/{name}; install gristmill[keyring] or use ${{env:NAME}}")


@dataclass(slots=True, kw_only=True)
class Secrets:
    """Resolves references and remembers what it gave out, so that it can be masked."""

    environ: Mapping[str, str] = field(repr=False)
    keyring: Keyring = field(default=no_keyring, repr=False)
    _known: set[str] = field(default_factory=set[str], repr=False)

    def resolve(self, text: str) -> str:
        """Replace every reference in ``text`` by its value.

        Raises:
            ConfigError: a variable is not set, or the keyring has no such entry.
        """
        return REFERENCE.sub(lambda found: self._value(found[1], found[2]), text)

    def mask(self, text: str) -> str:
        """Replace every value that was given out by stars."""
        for value in sorted(self._known, key=len, reverse=True):
            text = text.replace(value, "***")
        return text

    def _value(self, kind: str, name: str) -> str:
        value = self._from_environment(name) if kind == "env" else self._from_keyring(name)
        if len(value) >= _SHORTEST:
            self._known.add(value)
        return value

    def _from_environment(self, name: str) -> str:
        name, separator, default = name.partition(":-")
        value = self.environ.get(name)
        if value is None and not separator:
            raise ConfigError(f"the environment variable {name} is not set")
        return value if value is not None else default

    def _from_keyring(self, name: str) -> str:
        service, separator, entry = name.partition("/")
        if not separator or not entry:
            raise ConfigError(f"${{keyring:{name}}} is not of the form ${{keyring:service/name}}")
        value = self.keyring(service, entry)
        if value is None:
            raise ConfigError(f"the keyring has no entry {service}/{entry}")
        return value
