"""Reads and writes files about tools: whole or not at all, readable only by their owner."""

import json
from pathlib import Path

from gristmill.atomic_file import write_atomically
from gristmill.model import Json

MOST_BYTES = 64_000_000
"""A larger file was not written by Gristmill, and is not read."""


def read_json(path: Path) -> Json:
    """Returns the content of ``path``; None if there is no such file, or it cannot be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def write_json(path: Path, value: Json) -> None:
    """Writes ``value`` to ``path``."""
    # Escaped to ASCII: text from servers may contain lone surrogates, which no encoding accepts.
    write_atomically(path, [json.dumps(value, separators=(",", ":")).encode("ascii")])
