"""An index file as bytes: a header that says where each array lies, then the arrays as they are in memory. Needs no arrays.

Whoever asks one question and leaves reads it with the standard library alone; `index_file` gives the same bytes to the arrays.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gristmill.values import dataclass

_MAGIC = b"gristmill index\n"
_SIZE = 8  # bytes that hold the length of the header


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One array: what its numbers are, how they are laid out, and their bytes."""

    kind: Any
    shape: tuple[int, ...]
    content: memoryview


def write_stretches(path: Path, key: bytes, stretches: Mapping[str, Stretch]) -> None:
    """Write beside ``path`` and move it there, so that a reader never sees half a file."""
    from tempfile import NamedTemporaryFile  # who only reads does without

    rows = {name: [each.kind, each.shape, each.content.nbytes] for name, each in stretches.items()}
    header = json.dumps({"key": key.hex(), "arrays": rows}, separators=(",", ":")).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        file.write(_MAGIC + len(header).to_bytes(_SIZE, "little") + header)
        for each in stretches.values():
            file.write(each.content)
    os.replace(file.name, path)


def read_stretches(path: Path, key: bytes) -> dict[str, Stretch] | None:
    """What was saved under ``key``, or nothing: a missing, torn, foreign or outdated file all mean building anew."""
    try:
        whole = memoryview(path.read_bytes())
        start = len(_MAGIC) + _SIZE
        at = start + int.from_bytes(whole[len(_MAGIC) : start], "little")
        header: dict[str, Any] = json.loads(bytes(whole[start:at]))
        if bytes(whole[: len(_MAGIC)]) != _MAGIC or header["key"] != key.hex():
            return None
        found: dict[str, Stretch] = {}
        for name, (kind, shape, size) in cast("dict[str, tuple[Any, list[int], int]]", header["arrays"]).items():
            found[name] = Stretch(kind=kind, shape=tuple(shape), content=whole[at : at + size])
            at += size
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return found if at == len(whole) else None
