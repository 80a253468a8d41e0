"""Remembers the entries that an installation took out of a client's file, so that a removal can put them back.

Clients rewrite their files: after that the backup is no longer the file as it was, and only these entries may be put back.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gristmill.config.atomic_write import read_bytes
from gristmill.errors import ConfigError


def name_record(path: Path) -> Path:
    """Returns where the entries that were taken out of ``path`` are kept."""
    return path.with_name(f"{path.name}.gristmill-replaced")


def read_record(path: Path) -> dict[str, Any]:
    """Returns the entries that were taken out of ``path``, by name; none if there is no record.

    Raises:
        ConfigError: the record cannot be read.
    """
    content = read_bytes(name_record(path))
    if content is None:
        return {}
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"{name_record(path)} is damaged: copy your servers back by hand, then delete it")
    return cast("dict[str, Any]", found)


def encode_record(entries: Mapping[str, Any]) -> bytes:
    """Returns the content of a record."""
    return json.dumps(entries, indent=2, default=str).encode()
