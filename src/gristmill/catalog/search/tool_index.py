"""The index over a snapshot of tools: finds the tools that fit a question, best first.

Building reads every definition once; a saved index is reused only for exactly the same definitions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.fuse_scores import fuse_scores
from gristmill.catalog.search.index_file import hash_index_sources, read_index, write_index
from gristmill.catalog.search.rank_dense import DenseRanker
from gristmill.catalog.search.rank_lexical import LexicalRanker
from gristmill.catalog.search.ranker import Ranker, RankerKind
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.catalog.search.usage_habits import UsageHabits
from gristmill.errors import NotFound
from gristmill.model import Tool
from gristmill.near_names import find_near_names

MAX_QUERY_CHARS = 4_000
"""Longer questions are read up to here."""


class ToolIndex(Struct, frozen=True, kw_only=True):
    """An immutable snapshot of tools, ready to be searched."""

    tools: Sequence[Tool]
    keys: Mapping[str, int]
    servers: Mapping[str, NDArray[np.int64]]
    words: Ranker
    meaning: Ranker
    made_from: str
    """The hash of all definitions."""

    @classmethod
    def build(cls, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self:
        """Builds the index from every definition; ``meaning`` may be a heavier ranker than the built-in one."""
        made_from = hash_index_sources(tools, _name_kind(meaning))
        return cls._assemble(tools, LexicalRanker.build(tools), meaning.build(tools), made_from)

    @classmethod
    def load(cls, path: Path, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self | None:
        """Returns the index saved at ``path``, or None if there is none for exactly these definitions."""
        made_from = hash_index_sources(tools, _name_kind(meaning))
        parts = read_index(path, made_from)
        if parts is None:
            return None
        try:
            return cls._assemble(tools, LexicalRanker.restore(parts["words"]), meaning.restore(parts["meaning"]), made_from)
        except (KeyError, ValueError):
            return None  # the hash matches but the arrays are not valid: the caller builds again

    def save(self, path: Path) -> None:
        """Saves the index at ``path`` for the next start."""
        write_index(path, self.made_from, {"words": self.words.state(), "meaning": self.meaning.state()})

    def search(
        self, query: str, limit: int = 5, *, server: str | None = None, habits: UsageHabits | None = None
    ) -> list[SearchHit]:
        """Returns the best tools for a question, best first; ``habits`` raise the tools that similar questions led to.

        Raises:
            NotFound: there is no server of that name.
        """
        query = query[:MAX_QUERY_CHARS]
        eligible = self._find_eligible(server)
        scores = fuse_scores(self.words.scores(query), self.meaning.scores(query))
        for key, lift in (habits.score_lifts(query) if habits else {}).items():
            if key in self.keys:
                scores[self.keys[key]] += lift
        named = self.keys.get(query.strip())
        if named is not None:
            scores[named] = scores.max() + 1
        if not scores.any() or limit < 1:
            return []
        return [SearchHit(tool=self.tools[i], score=float(scores[i])) for i in _find_best(scores, eligible, limit)]

    @classmethod
    def _assemble(cls, tools: Sequence[Tool], words: Ranker, meaning: Ranker, made_from: str) -> Self:
        members: dict[str, list[int]] = {}
        for i, tool in enumerate(tools):
            members.setdefault(tool.server, []).append(i)
        return cls(
            tools=tools,
            keys={tool.key: i for i, tool in enumerate(tools)},
            servers={name: np.array(places, np.int64) for name, places in members.items()},
            words=words,
            meaning=meaning,
            made_from=made_from,
        )

    def _find_eligible(self, server: str | None) -> NDArray[np.int64] | None:
        if server is None:
            return None
        if server not in self.servers:
            raise NotFound(f"there is no server {server[:80]!r}", near=find_near_names(server, self.servers))
        return self.servers[server]


def _name_kind(kind: RankerKind) -> str:
    return str(getattr(kind, "name", None) or getattr(kind, "__qualname__", type(kind).__qualname__))


def _find_best(scores: NDArray[np.float64], eligible: NDArray[np.int64] | None, limit: int) -> list[int]:
    """Returns the positions of the highest scores; equal scores keep the catalog's order."""
    eligible = np.arange(len(scores)) if eligible is None else eligible
    among = scores[eligible]
    limit = min(limit, len(among))
    if limit < len(among):
        floor = np.partition(among, len(among) - limit)[len(among) - limit]
        kept = np.flatnonzero(among >= floor)
        eligible, among = eligible[kept], among[kept]
    return [int(i) for i in eligible[np.argsort(-among, kind="stable")[:limit]]]
