"""Ranking by meaning: the cosine between a question and a tool in the static word table."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.rank_lexical import fields
from gristmill.catalog.vectors import Floats, shipped
from gristmill.model import Tool
from gristmill.values import dataclass

LARGE = 10_000
"""From this many tools on, all are compared in the leading dimensions and only the best of them in all dimensions."""
LEADING = 64
"""The table's dimensions are sorted by how much they tell apart; these first ones hold most of it."""
REFINED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseRanker:
    """One unit vector per tool; ``leading`` is what every question reads: all of it, unless there are many tools."""

    tools: NDArray[np.float16]
    leading: Floats

    @classmethod
    def build(cls, tools: Sequence[Tool]) -> Self:
        """Embed every tool as one text: server, name, description, parameters."""
        return cls._of(shipped().embed([" ".join(fields(tool)) for tool in tools]).astype(np.float16))

    def scores(self, query: str) -> Floats:
        """The cosine to each tool; zeros when no word of the question is known."""
        asked = shipped().embed([query])[0]
        width = self.leading.shape[1]
        scores = self.leading @ asked[:width]
        if width < len(asked):
            best = np.argpartition(scores, -REFINED)[-REFINED:]
            scores[best] += self.tools[best, width:].astype(np.float32) @ asked[width:]
        return scores

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for the index file."""
        return {"tools": self.tools}

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """The ranker whose ``state`` this was."""
        return cls._of(state["tools"])

    @classmethod
    def _of(cls, tools: NDArray[np.float16]) -> Self:
        width = LEADING if len(tools) >= LARGE else tools.shape[1]
        return cls(tools=tools, leading=np.ascontiguousarray(tools[:, :width], np.float32))
