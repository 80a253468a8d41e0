"""Finds the gateway's own credentials by value, so that they can be masked in every text of servers and programs."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from gristmill.config.sections.servers_section import SECRET_REFERENCE
from gristmill.config.tree import Config
from gristmill.errors import ConfigError
from gristmill.runtime.open.open_secrets import read_secret

_SECRET_NAME = re.compile(r"(?i)token|secret|passw|key|credential|auth|cookie|bearer|dsn")
"""Names of variables and fields that hold secrets. `${env:HOME}` is no secret: its value is part of half of all paths."""

_Reference = tuple[str, str, str]


def find_credentials(config: Config, environ: Mapping[str, str]) -> frozenset[str]:
    """Returns the values of the references in the configuration of servers and store, where they stand for a secret."""
    store = {"store key": config.store.key, "store password": config.store.url}
    store["notify secret"] = config.policy.notify.url
    sections = (store, *(server.model_dump(mode="json") for server in config.servers.values()))
    found = (each for section in sections for each in _find_references(section))
    values = (
        _resolve_reference(kind, name, environ, config.state_dir)
        for field, kind, name in found
        if kind == "keyring" or _SECRET_NAME.search(f"{field} {name}")
    )
    return frozenset(value for value in values if value)


def _find_references(value: Any, field: str = "") -> Iterable[_Reference]:
    """Finds every reference, with the name of the field that contains it."""
    if isinstance(value, str):
        yield from ((field, found[1], found[2]) for found in SECRET_REFERENCE.finditer(value))
    elif isinstance(value, dict):
        for name, item in cast("dict[str, Any]", value).items():
            yield from _find_references(item, name)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _find_references(item, field)


def _resolve_reference(kind: str, name: str, environ: Mapping[str, str], state: Path) -> str | None:
    if kind == "env":
        name, _, default = name.partition(":-")
        return environ.get(name, default)
    try:
        return read_secret(state, *name.split("/", 1)) if "/" in name else None
    except ConfigError:
        return None  # reported when that server is connected
