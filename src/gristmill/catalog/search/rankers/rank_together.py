"""Combines several rankers into one: each in units of its own spread, with equal weight."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.fuse_scores import standardize_scores
from gristmill.catalog.search.rankers.ranker import Ranker, RankerKind
from gristmill.model import Tool


class CombinedRanker(Struct, frozen=True):
    """A kind of ranker that combines other kinds, by name."""

    kinds: Mapping[str, RankerKind]

    @property
    def name(self) -> str:
        """The name of the combination; part of the hash that a stored index is valid for."""
        return "+".join(self.kinds)

    def build(self, tools: Sequence[Tool]) -> Ranker:
        """Builds each ranker from the tools."""
        return _BuiltRankers({name: kind.build(tools) for name, kind in self.kinds.items()})

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Ranker:
        """Restores each ranker from its own part of a saved state."""
        return _BuiltRankers({name: kind.restore(_select_state(state, name)) for name, kind in self.kinds.items()})


class _BuiltRankers(Struct, frozen=True):
    rankers: Mapping[str, Ranker]

    def scores(self, query: str) -> NDArray[np.float64]:
        return np.stack([standardize_scores(ranker.scores(query)) for ranker in self.rankers.values()]).sum(axis=0)

    def state(self) -> Mapping[str, NDArray[Any]]:
        return {f"{name}/{part}": array for name, ranker in self.rankers.items() for part, array in ranker.state().items()}


def _select_state(state: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(f"{name}/"): array for key, array in state.items() if key.startswith(f"{name}/")}
