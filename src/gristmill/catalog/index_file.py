"""An index on disk: plain arrays in one file, valid only for the definitions it was made from. Never a pickle."""

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.model import Tool

FORMAT = 1
"""Raised when the arrays, their meaning or the word table change; older files are then built anew."""

Arrays = Mapping[str, NDArray[Any]]


def definition_hash(tools: Sequence[Tool], kind: str) -> bytes:
    """What an index depends on: the definitions in their order, the kind of ranker, the format."""
    digest = hashlib.sha256(f"{FORMAT} {kind}".encode())
    for tool in tools:
        definition = (tool.server, tool.name, tool.title, tool.description, tool.input_schema)
        digest.update(json.dumps(definition, default=str).encode())
    return digest.digest()


def write_index(path: Path, key: bytes, parts: Mapping[str, Arrays]) -> None:
    """Write beside ``path`` and move it there, so that a reader never sees half a file."""
    arrays = {f"{part}.{name}": array for part, state in parts.items() for name, array in state.items()}
    arrays["key"] = np.frombuffer(key, np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]  # the stub takes the names for its own flag
    os.replace(file.name, path)


def read_index(path: Path, key: bytes) -> dict[str, dict[str, NDArray[Any]]] | None:
    """The parts saved under ``key``, or nothing: a missing, torn, foreign or outdated file all mean building anew."""
    parts: dict[str, dict[str, NDArray[Any]]] = {}
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            if file["key"].tobytes() != key:
                return None
            for name in file.files:
                part, _, array = name.partition(".")
                parts.setdefault(part, {})[array] = file[name]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return parts
