"""The catalogue of the last search on disk, as a search that starts cold reads it: names at once, definitions when shown.

It is believed only for exactly the configuration it was made with, and only as long as nothing it was made from has changed;
else whoever asks opens the whole house, which keeps a new one (`last_keep`). Light: no validation, no event loop.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gristmill.config.sources import default_state_dir
from gristmill.model import Tool
from gristmill.values import dataclass

if TYPE_CHECKING:
    from gristmill.catalog.search.tool_index import Index

FORMAT = 2
"""Raised when what is kept means something else; older files are then made anew."""
INDEXES, KNOWN, PINS = "catalog", "known", "known/pins.json"

Stamp = tuple[str, int, int, int]
"""A file below the state folder: when it was last written, its size, and which it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """The catalogue of the last search; ``last[place]`` is the tool at that place, read when it is asked for."""

    state: Path
    modules: Mapping[str, str]
    functions: Mapping[str, str]
    """By key, in the order of the places."""
    marks: Mapping[str, str]
    learn_results: bool
    learn_from_use: bool
    index_name: str
    made_from: str
    lines: memoryview
    ends: Sequence[int]

    def __getitem__(self, place: int) -> Tool:
        return Tool(**json.loads(bytes(self.lines[self.ends[place - 1] if place else 0 : self.ends[place]])))

    def index(self) -> "Index | None":
        """The index over these tools, or nothing if it is gone."""
        from gristmill.catalog.search.tool_index import (
            Index,  # its arrays take longer to load than all else: only who searches pays
        )

        return Index.read(self.state / INDEXES / self.index_name, self.made_from, list(self.functions), self)


def key_of(tree: Mapping[str, Any], version: str) -> str:
    """What decides which catalogue a configuration has, as one hash; ``version`` is that of the program."""
    text = json.dumps([FORMAT, version, str(default_state_dir()), tree], default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def state_of(tree: Mapping[str, Any]) -> Path | None:
    """The state folder of a configuration that was not checked; nothing where it is not plainly said."""
    store = tree.get("store", {})
    path = cast("dict[str, Any]", store).get("path") if isinstance(store, dict) else 0
    return default_state_dir() if path is None else Path(path) if isinstance(path, str) else None


def stamps(state: Path, files: Sequence[str]) -> list[Stamp]:
    """How ``files`` are now; one that is not there is all zeros."""
    found: list[Stamp] = []
    for name in files:
        try:
            seen = os.stat(state / name)
            found.append((name, seen.st_mtime_ns, seen.st_size, seen.st_ino))
        except OSError:
            found.append((name, 0, 0, 0))
    return found


def path_of(state: Path, key: str) -> Path:
    """Where the catalogue of that configuration is kept: not beside the index, since that folder is shown to code."""
    return state / KNOWN / f"last-{key[:16]}.json"


def read_last(tree: Mapping[str, Any], version: str) -> Last | None:
    """The catalogue that is kept for this configuration, or nothing that can be believed."""
    state, key = state_of(tree), key_of(tree, version)
    if state is None:
        return None
    try:
        whole = path_of(state, key).read_bytes()
        at = whole.index(b"\n") + 1
        head: dict[str, Any] = json.loads(whole[:at])
        if head["key"] != key or not _unchanged(state, head["stamps"]):
            return None
        last = Last(state=state, lines=memoryview(whole)[at:], **head["last"])
        return last if len(last.functions) == len(last.ends) and last.ends[-1] == len(last.lines) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None  # missing, torn or foreign


def _unchanged(state: Path, kept: Sequence[Sequence[Any]]) -> bool:
    return stamps(state, [str(each[0]) for each in kept]) == [tuple(each) for each in kept]
