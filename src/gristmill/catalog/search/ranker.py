"""What a ranker is. Two ship, lexical and dense; a heavier one comes in by the entry point ``gristmill.rankers``.

An entry point names a ``RankerKind``; the hall loads it and hands it to ``Index.build`` in place of the dense one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gristmill.model import Tool


class Ranker(Protocol):
    """Scores all tools of one catalogue for a question."""

    def scores(self, query: str) -> NDArray[np.floating[Any]]:
        """One finite number per tool, in the order they were given; more is better, all equal means no opinion."""
        ...

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Plain arrays from which the same ranker can be restored without reading the tools again."""
        ...


class RankerKind(Protocol):
    """Makes rankers; a class with these two class methods is one."""

    def build(self, tools: Sequence[Tool]) -> Ranker:
        """Read the tools."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Ranker:
        """Take up a saved state. Raises KeyError or ValueError when it is not one."""
        ...
