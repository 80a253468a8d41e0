"""Ranking by meaning: the cosine between a question and a tool in the static word table.

Vectors are rounded to whole steps so coarse that every sum of products is exact: the order of adding up cannot matter, and equal
tools are equal.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.search.rank_lexical import fields
from gristmill.catalog.search.word_vectors import Floats, shipped
from gristmill.model import Tool
from gristmill.values import dataclass

TOOL_STEPS, QUERY_STEPS = 1 << 12, 1 << 11
"""Steps of a vector's numbers. Products have 2**23 steps and vectors length one, so sums stay below the 2**24 of a float32."""
LARGE = 10_000
"""From this many tools on, all are compared in the leading dimensions and only the best of them in all dimensions."""
LEADING = 64
"""The table's dimensions are sorted by how much they tell apart; these first ones hold most of it."""
REFINED = 1_000
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DenseRanker:
    """One unit vector per tool; ``leading`` is what every question reads: all of it, unless there are many tools."""

    tools: NDArray[np.int16]
    leading: NDArray[np.float32]

    @classmethod
    def build(cls, tools: Sequence[Tool]) -> Self:
        """Embed every tool as one text: server, name, description, parameters."""
        texts = [" ".join(fields(tool)) for tool in tools]
        # Some at a time: exact vectors of fifty thousand tools at once would take a hundred megabytes.
        parts = [
            _steps(shipped().embed(texts[i : i + _AT_ONCE]), TOOL_STEPS).astype(np.int16) for i in range(0, len(texts), _AT_ONCE)
        ]
        return cls._of(np.concatenate(parts) if parts else np.zeros((0, shipped().width), np.int16))

    def scores(self, query: str) -> NDArray[np.float32]:
        """The cosine to each tool; zeros when no word of the question is known."""
        asked = _steps(shipped().embed([query])[0], QUERY_STEPS).astype(np.float32)
        width = self.leading.shape[1]
        scores = self.leading @ asked[:width]
        if width < len(asked):
            best = np.argpartition(scores, -REFINED)[-REFINED:]
            scores[best] += self.tools[best, width:].astype(np.float32) @ asked[width:]
        return scores / np.float32(TOOL_STEPS * QUERY_STEPS)

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for the index file."""
        return {"tools": self.tools}

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """The ranker whose ``state`` this was."""
        return cls._of(state["tools"])

    @classmethod
    def _of(cls, tools: NDArray[np.int16]) -> Self:
        width = LEADING if len(tools) >= LARGE else tools.shape[1]
        return cls(tools=tools, leading=np.ascontiguousarray(tools[:, :width], np.float32))


def _steps(vectors: Floats, steps: int) -> Floats:
    return np.rint(vectors * steps)
