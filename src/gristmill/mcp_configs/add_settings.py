"""Adds settings to our own configuration file; what the file says already stays as it is."""

from collections.abc import Mapping
from typing import Any, cast

import tomlkit

from gristmill.errors import ConfigError


def add_settings(document: Any, settings: Mapping[str, Mapping[str, Any]]) -> bool:
    """Adds keys to the sections of a parsed file, and missing items to its lists; returns whether anything changed.

    Raises:
        ConfigError: the file has something else where a section or a list should be.
    """
    changed = False
    for section, values in settings.items():
        table: Any = document.get(section)
        if table is None and values:
            document[section] = table = tomlkit.table()
        for key, value in values.items():
            changed |= _add_key(section, table, key, value)
    return changed


def _add_key(section: str, table: Any, key: str, value: Any) -> bool:
    if not isinstance(table, Mapping):
        raise ConfigError(f"{section} in the configuration is not a table: write [{section}]")
    values: Any = cast("Any", table)
    if key not in values:
        values[key] = value
        return True
    if not isinstance(value, list):
        return False
    there: Any = values[key]
    if not isinstance(there, list):
        raise ConfigError(f"{key} under [{section}] is not a list: write {key} = [...]")
    missing = [item for item in cast("list[Any]", value) if item not in there]
    cast("list[Any]", there).extend(missing)
    return bool(missing)
