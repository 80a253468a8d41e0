"""An index on disk as arrays, valid only for the definitions it was made from. Never a pickle."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.index_bytes import Stretch, read_stretches, write_stretches
from gristmill.model import Tool

FORMAT = 2
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
    """Keep every array of every part.

    Raises:
        ValueError: an array of Python objects, which no file of ours holds.
    """
    stretches = {f"{part}.{name}": _stretch(array) for part, state in parts.items() for name, array in state.items()}
    write_stretches(path, key, stretches)


def read_index(path: Path, key: bytes) -> dict[str, dict[str, NDArray[Any]]] | None:
    """The parts saved under ``key``, or nothing: a missing, torn, foreign or outdated file all mean building anew."""
    parts: dict[str, dict[str, NDArray[Any]]] = {}
    try:
        for name, stretch in (read_stretches(path, key) or {}).items():
            part, _, array = name.partition(".")
            parts.setdefault(part, {})[array] = np.frombuffer(stretch.content, _dtype(stretch.kind)).reshape(stretch.shape)
    except (ValueError, TypeError):
        return None
    return parts or None


def _stretch(array: NDArray[Any]) -> Stretch:
    if array.dtype.hasobject:
        raise ValueError("an index holds numbers, not objects")
    kind = array.dtype.descr if array.dtype.names else array.dtype.str
    return Stretch(kind=kind, shape=array.shape, content=np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _dtype(kind: str | list[list[Any]]) -> np.dtype[Any]:
    """The reverse of what a header says; JSON knows no tuples."""
    if isinstance(kind, str):
        return np.dtype(kind)
    return np.dtype([(name, form, *map(tuple, shape)) for name, form, *shape in kind])
