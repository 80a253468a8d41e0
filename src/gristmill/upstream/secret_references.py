"""Resolves secret references when a server is connected, and masks the resolved values in messages.

The environment and the keyring are parameters; nothing here reads them by itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from gristmill.config.sections.servers_section import SECRET_REFERENCE, names_secret
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

    def pass_on(self, patterns: Iterable[str]) -> dict[str, str]:
        """Returns the variables whose names match ``patterns``; values of those that name a secret are masked from now on."""
        # An exact name, or * for any letters: a question mark and brackets have no meaning in such a pattern.
        wanted = re.compile("|".join(re.escape(each).replace(r"\*", ".*") for each in patterns) or r"(?!)")
        found = {name: value for name, value in self.environ.items() if wanted.fullmatch(name)}
        self.note_secrets(value for name, value in found.items() if names_secret(name))
        self.note_secrets(find_proxy_passwords(found))
        return found

    def note_secrets(self, values: Iterable[str]) -> None:
        """Masks ``values`` too."""
        self._resolved.update(value for value in values if len(value) >= _SHORTEST_MASKED)

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


def find_proxy_passwords(environ: Mapping[str, str]) -> frozenset[str]:
    """Returns the passwords in the variables of proxies, so that they can be masked."""
    found: set[str] = set()
    for name, value in environ.items():
        if name.lower() in ("http_proxy", "https_proxy", "all_proxy"):
            try:
                password = urlsplit(value if "://" in value else f"http://{value}").password
            except ValueError:
                continue
            found |= {password, unquote(password)} if password else set()
    return frozenset(found)
