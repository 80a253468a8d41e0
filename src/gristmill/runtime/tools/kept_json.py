"""Files that the hall keeps about tools: whole or not at all, readable only by their owner."""

import json
import os
from collections.abc import Iterable
from pathlib import Path

from gristmill.model import Json

MOST_BYTES = 64_000_000
"""A larger file is none of ours."""


def read_json(path: Path) -> Json:
    """What ``path`` holds, or nothing when there is no such file, or none that can be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def write_json(path: Path, value: Json) -> None:
    """Keep ``value`` at ``path``."""
    # Escaped: what servers say may hold what no encoding knows.
    write_whole(path, [json.dumps(value, separators=(",", ":")).encode("ascii")])


def write_whole(path: Path, parts: Iterable[bytes]) -> None:
    """Keep ``parts``, one after the other, at ``path``."""
    import tempfile  # a search that only reads does without

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
