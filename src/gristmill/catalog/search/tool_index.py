"""The index over a snapshot of tools: which of them fit a question, best first.

Building reads every definition once; a saved index is taken up again only for exactly the same definitions. Asking reads none
but those of the tools that are found: a search from a cold start has the others still on disk.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.search.fuse_scores import fuse
from gristmill.catalog.search.index_file import definition_hash, read_index, write_index
from gristmill.catalog.search.rank_dense import DenseRanker
from gristmill.catalog.search.rank_lexical import LexicalRanker
from gristmill.catalog.search.ranker import Ranker, RankerKind
from gristmill.catalog.search.search_hits import Hit
from gristmill.catalog.search.usage_habits import Habits
from gristmill.errors import NotFound
from gristmill.model import Tool
from gristmill.near_names import near_names
from gristmill.values import dataclass

MAX_QUERY_CHARS = 4_000
"""A longer question is read this far."""


class Definitions(Protocol):
    """The tools of a snapshot by their place in it."""

    def __getitem__(self, place: int, /) -> Tool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An immutable snapshot of tools, ready to be searched."""

    tools: Definitions
    keys: Mapping[str, int]
    servers: Mapping[str, NDArray[np.int64]]
    words: Ranker
    meaning: Ranker
    made_from: str
    """The hash of all definitions."""

    @classmethod
    def build(cls, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self:
        """Read every definition; ``meaning`` may be a heavier ranker than the one that ships."""
        made_from = definition_hash(tools, _name(meaning))
        return cls._of(tools, [tool.key for tool in tools], LexicalRanker.build(tools), meaning.build(tools), made_from)

    @classmethod
    def load(cls, path: Path, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self | None:
        """The index saved at ``path``, or nothing if there is none for exactly these definitions."""
        return cls.read(path, definition_hash(tools, _name(meaning)), [tool.key for tool in tools], tools, meaning=meaning)

    @classmethod
    def read(
        cls, path: Path, made_from: str, keys: Sequence[str], tools: Definitions, *, meaning: RankerKind = DenseRanker
    ) -> Self | None:
        """As `load`, for who knows the hash of all definitions and their keys: no definition is looked at."""
        parts = read_index(path, made_from)
        if parts is None:
            return None
        try:
            return cls._of(tools, keys, LexicalRanker.restore(parts["words"]), meaning.restore(parts["meaning"]), made_from)
        except (KeyError, ValueError):
            return None  # the hash was right but the arrays are not ours: build anew

    def save(self, path: Path) -> None:
        """Keep the index at ``path`` for the next start."""
        write_index(path, self.made_from, {"words": self.words.state(), "meaning": self.meaning.state()})

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

    @classmethod
    def _of(cls, tools: Definitions, keys: Sequence[str], words: Ranker, meaning: Ranker, made_from: str) -> Self:
        members: dict[str, list[int]] = {}
        for i, key in enumerate(keys):
            members.setdefault(key.partition(".")[0], []).append(i)
        return cls(
            tools=tools,
            keys={key: i for i, key in enumerate(keys)},
            servers={name: np.array(places, np.int64) for name, places in members.items()},
            words=words,
            meaning=meaning,
            made_from=made_from,
        )

    def _of_server(self, server: str | None) -> NDArray[np.int64] | None:
        if server is None:
            return None
        if server not in self.servers:
            raise NotFound(f"there is no server {server[:80]!r}", near=near_names(server, self.servers))
        return self.servers[server]


def _name(kind: RankerKind) -> str:
    return str(getattr(kind, "name", None) or getattr(kind, "__qualname__", type(kind).__qualname__))


def _best(scores: NDArray[np.float64], eligible: NDArray[np.int64] | None, limit: int) -> list[int]:
    """The positions of the highest scores; equal scores keep the catalogue's order."""
    eligible = np.arange(len(scores)) if eligible is None else eligible
    among = scores[eligible]
    limit = min(limit, len(among))
    if limit < len(among):
        floor = np.partition(among, len(among) - limit)[len(among) - limit]
        kept = np.flatnonzero(among >= floor)
        eligible, among = eligible[kept], among[kept]
    return [int(i) for i in eligible[np.argsort(-among, kind="stable")[:limit]]]
