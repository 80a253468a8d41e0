"""Stores an index on disk, valid only for the definitions it was made from: a header, then raw arrays. Never a pickle."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gristmill.atomic_file import write_atomically
from gristmill.model import Tool

FORMAT = 4
"""Increased when the arrays, their meaning or the word table change; older files are then rebuilt."""

_MAGIC = b"gristmill index\n"
_SIZE = 8  # bytes that hold the length of the header

Arrays = Mapping[str, NDArray[Any]]


def hash_index_sources(tools: Sequence[Tool], kind: str) -> str:
    """Returns a hash of what an index depends on: the definitions in their order, the kind of ranker, the format."""
    digest = hashlib.sha256(f"{FORMAT} {kind}".encode())
    for tool in tools:
        definition = (
            *(tool.server, tool.name, tool.title, tool.description),
            *(tool.input_schema, tool.output_schema, tool.annotations),
        )
        digest.update(json.dumps(definition, default=str).encode())
    return digest.hexdigest()


def write_index(path: Path, made_from: str, parts: Mapping[str, Arrays]) -> None:
    """Writes every array of every part beside ``path`` and moves the file there, so that a reader never sees half a file.

    Raises:
        ValueError: an array holds Python objects, which the file format does not allow.
    """
    arrays = {f"{part}.{name}": array for part, state in parts.items() for name, array in state.items()}
    rows = {name: [_dtype_to_json(array.dtype), array.shape, array.nbytes] for name, array in arrays.items()}
    header = json.dumps({"made_from": made_from, "arrays": rows}, separators=(",", ":")).encode()
    contents = (np.ascontiguousarray(array).reshape(-1).view(np.uint8).data for array in arrays.values())
    write_atomically(path, chain([_MAGIC + len(header).to_bytes(_SIZE, "little") + header], contents))


def read_index(path: Path, made_from: str) -> dict[str, dict[str, NDArray[Any]]] | None:
    """Returns the parts made from exactly these definitions, or None if the file is missing, damaged, foreign or outdated."""
    parts: dict[str, dict[str, NDArray[Any]]] = {}
    try:
        whole = memoryview(path.read_bytes())
        start = len(_MAGIC) + _SIZE
        at = start + int.from_bytes(whole[len(_MAGIC) : start], "little")
        header: dict[str, Any] = json.loads(bytes(whole[start:at]))
        if bytes(whole[: len(_MAGIC)]) != _MAGIC or header["made_from"] != made_from:
            return None
        for name, (kind, shape, size) in cast("dict[str, tuple[Any, list[int], int]]", header["arrays"]).items():
            part, _, array = name.partition(".")
            parts.setdefault(part, {})[array] = np.frombuffer(whole[at : at + size], _dtype_from_json(kind)).reshape(shape)
            at += size
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return parts if at == len(whole) else None


def _dtype_to_json(dtype: np.dtype[Any]) -> Any:
    if dtype.hasobject:
        raise ValueError("an index holds numbers, not objects")
    return dtype.descr if dtype.names else dtype.str


def _dtype_from_json(kind: str | list[list[Any]]) -> np.dtype[Any]:
    """Reverses `_dtype_to_json`; JSON has no tuples."""
    if isinstance(kind, str):
        return np.dtype(kind)
    return np.dtype([(name, form, *map(tuple, shape)) for name, form, *shape in kind])
