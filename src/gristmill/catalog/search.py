"""The index over a snapshot of tools and the questions it answers: search, list, describe.

Building reads every definition once; a saved index is taken up again only for exactly the same definitions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.found import Hit, ServerSummary
from gristmill.catalog.fuse import fuse
from gristmill.catalog.index_file import definition_hash, read_index, write_index
from gristmill.catalog.near import near_names
from gristmill.catalog.rank_dense import DenseRanker
from gristmill.catalog.rank_lexical import LexicalRanker
from gristmill.catalog.rankers import Ranker, RankerKind
from gristmill.catalog.usage import Habits
from gristmill.catalog.weights import MAX_QUERY_CHARS
from gristmill.errors import NotFound, UnknownTool
from gristmill.model import Tool
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An immutable snapshot of tools, ready to be searched."""

    tools: tuple[Tool, ...]
    keys: Mapping[str, int]
    servers: Mapping[str, NDArray[np.int64]]
    words: Ranker
    meaning: Ranker
    kind: str

    @classmethod
    def build(cls, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self:
        """Read every definition; ``meaning`` may be a heavier ranker than the one that ships."""
        return cls._of(tools, LexicalRanker.build(tools), meaning.build(tools), _name(meaning))

    @classmethod
    def load(cls, path: Path, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self | None:
        """The index saved at ``path``, or nothing if there is none for exactly these definitions."""
        parts = read_index(path, definition_hash(tools, _name(meaning)))
        if parts is None:
            return None
        try:
            return cls._of(tools, LexicalRanker.restore(parts["words"]), meaning.restore(parts["meaning"]), _name(meaning))
        except (KeyError, ValueError):
            return None  # the key was right but the arrays are not ours: build anew

    def save(self, path: Path) -> None:
        """Keep the index at ``path`` for the next start."""
        parts = {"words": self.words.state(), "meaning": self.meaning.state()}
        write_index(path, definition_hash(self.tools, self.kind), parts)

    def search(self, query: str, limit: int = 5, *, server: str | None = None, habits: Habits | None = None) -> list[Hit]:
        """The best tools for a question, best first; ``habits`` lift what similar questions led to.

        Raises:
            NotFound: no server of that name.
        """
        query = query[:MAX_QUERY_CHARS]
        eligible = self._of_server(server)
        scores = fuse(self.words.scores(query), self.meaning.scores(query))
        for key, lift in (habits.lifts(query) if habits else {}).items():
            if key in self.keys:
                scores[self.keys[key]] += lift
        named = self.keys.get(query.strip())
        if named is not None:
            scores[named] = scores.max() + 1
        if not scores.any() or limit < 1:
            return []
        return [Hit(tool=self.tools[i], score=float(scores[i])) for i in _best(scores, eligible, limit)]

    def list_servers(self) -> list[ServerSummary]:
        """Every server, by name."""
        return [ServerSummary(name=name, tools=len(self.servers[name])) for name in sorted(self.servers)]

    def list_tools(self, server: str) -> list[Tool]:
        """The tools of one server, in its own order.

        Raises:
            NotFound: no server of that name.
        """
        return [self.tools[i] for i in self._of_server(server)]

    def describe(self, keys: Sequence[str]) -> list[Tool]:
        """The tools with these keys (``server.name``), in the order asked for.

        Raises:
            UnknownTool: a key nobody has; ``near`` holds close ones.
        """
        return [self.tools[self._position(key)] for key in keys]

    @classmethod
    def _of(cls, tools: Sequence[Tool], words: Ranker, meaning: Ranker, kind: str) -> Self:
        members: dict[str, list[int]] = {}
        for i, tool in enumerate(tools):
            members.setdefault(tool.server, []).append(i)
        return cls(
            tools=tuple(tools),
            keys={tool.key: i for i, tool in enumerate(tools)},
            servers={name: np.array(positions, np.int64) for name, positions in members.items()},
            words=words,
            meaning=meaning,
            kind=kind,
        )

    def _of_server(self, server: str | None) -> NDArray[np.int64]:
        if server is None:
            return np.arange(len(self.tools))
        if server not in self.servers:
            raise NotFound(f"there is no server {server[:80]!r}", near=near_names(server, self.servers))
        return self.servers[server]

    def _position(self, key: str) -> int:
        if key not in self.keys:
            raise UnknownTool(f"there is no tool {key[:80]!r}", near=near_names(key, self.keys))
        return self.keys[key]


def _name(kind: RankerKind) -> str:
    return str(getattr(kind, "name", None) or getattr(kind, "__qualname__", type(kind).__qualname__))


def _best(scores: NDArray[np.float64], eligible: NDArray[np.int64], limit: int) -> list[int]:
    """The positions of the highest scores; equal scores keep the catalogue's order."""
    among = scores[eligible]
    limit = min(limit, len(among))
    if limit < len(among):
        floor = np.partition(among, len(among) - limit)[len(among) - limit]
        kept = np.flatnonzero(among >= floor)
        eligible, among = eligible[kept], among[kept]
    return [int(i) for i in eligible[np.argsort(-among, kind="stable")[:limit]]]
