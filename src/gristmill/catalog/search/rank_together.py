"""Several rankers as one: each in units of its own spread, with the same say."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.search.fuse_scores import standardized
from gristmill.catalog.search.ranker import Ranker, RankerKind
from gristmill.model import Tool
from gristmill.values import dataclass


@dataclass(frozen=True, slots=True)
class Together:
    """A kind of ranker made of others, by name."""

    kinds: Mapping[str, RankerKind]

    @property
    def name(self) -> str:
        """What an index is kept under."""
        return "+".join(self.kinds)

    def build(self, tools: Sequence[Tool]) -> Ranker:
        """Let each read the tools."""
        return _All({name: kind.build(tools) for name, kind in self.kinds.items()})

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Ranker:
        """Give each its own part of a saved state."""
        return _All({name: kind.restore(_part(state, name)) for name, kind in self.kinds.items()})


@dataclass(frozen=True, slots=True)
class _All:
    rankers: Mapping[str, Ranker]

    def scores(self, query: str) -> NDArray[np.float64]:
        return np.stack([standardized(ranker.scores(query)) for ranker in self.rankers.values()]).sum(axis=0)

    def state(self) -> Mapping[str, NDArray[Any]]:
        return {f"{name}/{part}": array for name, ranker in self.rankers.items() for part, array in ranker.state().items()}


def _part(state: Mapping[str, NDArray[Any]], name: str) -> dict[str, NDArray[Any]]:
    return {key.removeprefix(f"{name}/"): array for key, array in state.items() if key.startswith(f"{name}/")}
