"""Defines what a ranker is. Two are built in, lexical and dense; a heavier one comes by the entry point ``gristmill.rankers``.

An entry point names a ``RankerKind``; the runtime loads it and passes it to ``ToolIndex.build`` in place of the dense one.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gristmill.model import Tool


class Ranker(Protocol):
    """A scorer of all tools of one catalog for a question."""

    def scores(self, query: str) -> NDArray[np.floating[Any]]:
        """Returns one finite number per tool, in the order of the tools; higher is better, all equal means no preference."""
        ...

    def state(self) -> Mapping[str, NDArray[Any]]:
        """Returns plain arrays from which the same ranker can be restored without reading the tools again."""
        ...


class RankerKind(Protocol):
    """A factory of rankers; a class with these two class methods is one."""

    def build(self, tools: Sequence[Tool]) -> Ranker:
        """Builds a ranker from the tools."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Ranker:
        """Restores a ranker from a saved state. Raises KeyError or ValueError if the state is not valid."""
        ...
