"""The index over a snapshot of tools: finds the tools that fit a question, best first.

Building reads every definition once; a saved index is reused only for exactly the same definitions.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.fuse_scores import (
    DECIMALS,
    Floats,
    Scores,
    fuse_features,
    load_weights,
    measure_sureness,
    rank_features,
    score_candidates,
    standardize_scores,
)
from gristmill.catalog.search.index_file import hash_index_sources, read_index, write_index
from gristmill.catalog.search.question_parts import split_clauses
from gristmill.catalog.search.rankers.rank_dense import LARGE_CATALOG, DenseRanker
from gristmill.catalog.search.rankers.rank_lexical import LexicalRanker
from gristmill.catalog.search.rankers.ranker import Ranker, RankerKind
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.catalog.search.tool_features import ToolFeatures
from gristmill.catalog.search.usage_habits import UsageHabits
from gristmill.errors import NotFound
from gristmill.model import Tool
from gristmill.near_names import find_near_names

MAX_QUERY_CHARS = 4_000
"""Longer questions are read up to here."""
CANDIDATES = 64
"""How many tools are compared in all features; a search for more than half as many compares twice the number asked for."""
NAMED_BONUS = 2.0
"""What a tool gains whose name the question says, in other words for the same verb if need be: nothing else should come first."""
CLAUSE_SHARE = 0.2
"""How much the clause that a tool fits best counts beside the whole question, so that an answer covers several needs."""
MOST_CLAUSES_WHEN_LARGE = 3
"""With very many tools only so many clauses of a question are ranked by themselves: each costs a pass over all tools."""


class ToolIndex(Struct, frozen=True, kw_only=True):
    """An immutable snapshot of tools, ready to be searched."""

    tools: Sequence[Tool]
    keys: Mapping[str, int]
    servers: Mapping[str, NDArray[np.int64]]
    words: LexicalRanker
    dense: DenseRanker
    features: ToolFeatures
    ranker: Ranker | None
    """A heavier ranker, if one is configured."""
    made_from: str
    """The hash of all definitions."""

    @classmethod
    def build(cls, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self:
        """Builds the index from every definition; ``meaning`` may be a heavier ranker, which then joins the built-in one."""
        made_from = hash_index_sources(tools, _name_kind(meaning))
        words = LexicalRanker.build(tools)
        ranker = None if meaning is DenseRanker else meaning.build(tools)
        parts = _IndexParts(words=words, dense=DenseRanker.build(tools), features=ToolFeatures.build(tools, words), ranker=ranker)
        return cls._assemble(tools, parts, made_from)

    @classmethod
    def load(cls, path: Path, tools: Sequence[Tool], *, meaning: RankerKind = DenseRanker) -> Self | None:
        """Returns the index saved at ``path``, or None if there is none for exactly these definitions."""
        made_from = hash_index_sources(tools, _name_kind(meaning))
        saved = read_index(path, made_from)
        if saved is None:
            return None
        try:
            parts = _IndexParts(
                words=LexicalRanker.restore(saved["words"]),
                dense=DenseRanker.restore(saved["dense"]),
                features=ToolFeatures.restore(saved["features"]),
                ranker=None if meaning is DenseRanker else meaning.restore(saved["ranker"]),
            )
            return cls._assemble(tools, parts, made_from)
        except (KeyError, ValueError):
            return None  # the hash matches but the arrays are not valid: the caller builds again

    def save(self, path: Path) -> None:
        """Saves the index at ``path`` for the next start."""
        parts = {"words": self.words.state(), "dense": self.dense.state(), "features": self.features.state()}
        write_index(path, self.made_from, {**parts, "ranker": self.ranker.state()} if self.ranker else parts)

    def search(
        self, query: str, limit: int = 5, *, server: str | None = None, habits: UsageHabits | None = None
    ) -> list[SearchHit]:
        """Returns the best tools for a question, best first; ``habits`` raise the tools that similar questions led to.

        Raises:
            NotFound: there is no server of that name.
        """
        query = query[:MAX_QUERY_CHARS]
        eligible = self._find_eligible(server)
        if limit < 1 or not len(eligible):
            return []
        general = self.read_general_features(query)
        rough = score_candidates(general)
        words = self.words.scores(query)
        if not rough.any() and not words.any():
            return []  # neither words nor meaning prefer any tool
        lifts = {self.keys[key]: lift for key, lift in (habits.score_lifts(query) if habits else {}).items() if key in self.keys}
        named = self.keys.get(query.strip())
        wanted = np.array([*lifts, *(() if named is None else (named,))], np.int64)
        places = np.union1d(_find_best(rough, eligible, max(CANDIDATES, 2 * limit)), np.intersect1d(wanted, eligible))
        scores = self.score_places(query, places, general)
        scores += [lifts.get(int(place), 0.0) for place in places]
        if named is not None:
            scores[places == named] = scores.max() + 1
        best = _find_best(scores, np.arange(len(places)), limit)
        return [SearchHit(tool=self.tools[int(places[i])], score=float(scores[i])) for i in best]

    def read_general_features(self, query: str) -> dict[str, Scores]:
        """Returns the features that every tool has for a question, by name."""
        clauses = split_clauses(query)[: MOST_CLAUSES_WHEN_LARGE if len(self.tools) >= LARGE_CATALOG else None]
        words, meaning = standardize_scores(self.words.scores(query)), standardize_scores(self.dense.scores(query))
        sure = measure_sureness(words)
        found: dict[str, Scores] = {
            "words": words,
            "meaning": meaning,
            "meaning of a clause": _score_best_clause(self.dense, clauses, meaning),
            "words if sure": words * sure,
            "meaning if sure": meaning * sure,
        }
        if self.ranker is not None:
            found["ranker"] = standardize_scores(self.ranker.scores(query))
            found["ranker on a clause"] = _score_best_clause(self.ranker, clauses, found["ranker"])
        return found

    def read_features(self, query: str, places: NDArray[np.int64], general: Mapping[str, Scores]) -> dict[str, Scores]:
        """Returns all features of the tools at ``places``, by name."""
        features = {name: scores[places] for name, scores in general.items()}
        features.update(self.features.compare(query, self.tools, places, self.words))
        return features | rank_features(features)

    def score_places(self, query: str, places: NDArray[np.int64], general: Mapping[str, Scores]) -> NDArray[np.float64]:
        """Returns the fused scores of the tools at ``places``."""
        features = self.read_features(query, places, general)
        fused = self._fuse(features)
        clauses = split_clauses(query) if len(self.tools) < LARGE_CATALOG else []
        if clauses:
            by_clause = [self._fuse(self.read_features(each, places, self.read_general_features(each))) for each in clauses]
            best: Floats = np.stack([standardize_scores(each) for each in by_clause]).max(axis=0)
            fused = np.round(fused + CLAUSE_SHARE * float(fused.std()) * best, DECIMALS)
        return fused + NAMED_BONUS * np.round(features["named"].astype(np.float64), 3)

    def _fuse(self, features: Mapping[str, Scores]) -> NDArray[np.float64]:
        return fuse_features(features, load_weights("ranker" if self.ranker is not None else "default"))

    @classmethod
    def _assemble(cls, tools: Sequence[Tool], parts: "_IndexParts", made_from: str) -> Self:
        members: dict[str, list[int]] = {}
        for i, tool in enumerate(tools):
            members.setdefault(tool.server, []).append(i)
        return cls(
            tools=tools,
            keys={tool.key: i for i, tool in enumerate(tools)},
            servers={name: np.array(places, np.int64) for name, places in members.items()},
            words=parts.words,
            dense=parts.dense,
            features=parts.features,
            ranker=parts.ranker,
            made_from=made_from,
        )

    def _find_eligible(self, server: str | None) -> NDArray[np.int64]:
        if server is None:
            return np.arange(len(self.tools))
        if server not in self.servers:
            raise NotFound(f"there is no server {server[:80]!r}", near=find_near_names(server, self.servers))
        return self.servers[server]


class _IndexParts(Struct, frozen=True, kw_only=True):
    words: LexicalRanker
    dense: DenseRanker
    features: ToolFeatures
    ranker: Ranker | None


def _score_best_clause(ranker: Ranker, clauses: Sequence[str], whole: Scores) -> Scores:
    """Returns for each tool its score for the clause that it fits best; a question with one clause is that clause."""
    if not clauses:
        return whole
    return np.max([standardize_scores(ranker.scores(clause)) for clause in clauses], axis=0)


def _name_kind(kind: RankerKind) -> str:
    return str(getattr(kind, "name", None) or getattr(kind, "__qualname__", type(kind).__qualname__))


def _find_best(scores: NDArray[np.float64], eligible: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Returns the positions of the highest scores; equal scores keep the catalog's order."""
    among = scores[eligible]
    limit = min(limit, len(among))
    if limit < len(among):
        floor = np.partition(among, len(among) - limit)[len(among) - limit]
        kept = np.flatnonzero(among >= floor)
        eligible, among = eligible[kept], among[kept]
    return eligible[np.argsort(-among, kind="stable")[:limit]]
