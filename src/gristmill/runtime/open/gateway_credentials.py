"""The gateway's own credentials, by value: no text that a server or a program makes of them may show one."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from gristmill.config.sections.servers_section import REFERENCE
from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.runtime.open.open_servers import read_keyring

_TELLS = re.compile(r"(?i)token|secret|passw|key|credential|auth|cookie|bearer|dsn")
"""Names of variables and fields that hold secrets. What `${env:HOME}` stands for is none, and is in half of all paths."""

_Found = tuple[str, str, str]


def credentials(config: Config, environ: Mapping[str, str]) -> frozenset[str]:
    """What the references in the configuration of the servers stand for, where they stand for a secret."""
    found = (each for server in config.servers.values() for each in _references(server.model_dump(mode="json")))
    values = (_value(kind, name, environ) for field, kind, name in found if kind == "keyring" or _TELLS.search(f"{field} {name}"))
    return frozenset(value for value in values if value)


def _references(value: Any, field: str = "") -> Iterable[_Found]:
    """Every reference with the name of the field in which it stands."""
    if isinstance(value, str):
        yield from ((field, found[1], found[2]) for found in REFERENCE.finditer(value))
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            yield from _references(item, name)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _references(item, field)


def _value(kind: str, name: str, environ: Mapping[str, str]) -> str | None:
    if kind == "env":
        name, _, default = name.partition(":-")
        return environ.get(name, default)
    try:
        return read_keyring(*name.split("/", 1)) if "/" in name else None
    except ConfigError:
        return None  # whoever connects to that server says so
