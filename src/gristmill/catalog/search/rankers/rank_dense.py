"""Ranks tools by meaning: the cosine between a question and a tool in the static word table.

Vectors are rounded to whole steps, so coarse that every sum of products is exact: the order of addition does not matter, and
equal tools get equal scores.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.rankers.rank_lexical import list_search_fields
from gristmill.catalog.search.rankers.word_vectors import Floats, load_shipped_vectors
from gristmill.model import Tool

TOOL_STEPS, QUERY_STEPS = 1 << 12, 1 << 11
"""Rounding steps per unit. Products have 2**23 steps and vectors have length one, so sums stay below the 2**24 of a float32."""
LARGE_CATALOG = 10_000
"""From this many tools on, all are compared in the leading dimensions, and only the best of them in all dimensions."""
LEADING_DIMENSIONS = 64
"""Number of leading dimensions: the table is sorted by how well a dimension distinguishes, so the first ones hold most of it."""
REFINED_TOOLS = 1_000
_BATCH_SIZE = 2_000


class DenseRanker(Struct, frozen=True, kw_only=True):
    """One unit vector per tool. ``leading`` is the part that every question reads: all of it, unless there are many tools."""

    tools: NDArray[np.int16]
    leading: NDArray[np.float32]

    @classmethod
    def build(cls, tools: Sequence[Tool]) -> Self:
        """Embeds every tool as one text: server, name, description, parameters."""
        texts = [" ".join(list_search_fields(tool)) for tool in tools]
        # In batches: exact vectors of fifty thousand tools at once would take a hundred megabytes.
        parts = [
            _round_to_steps(load_shipped_vectors().embed(texts[i : i + _BATCH_SIZE]), TOOL_STEPS).astype(np.int16)
            for i in range(0, len(texts), _BATCH_SIZE)
        ]
        return cls._from_vectors(np.concatenate(parts) if parts else np.zeros((0, load_shipped_vectors().width), np.int16))

    def scores(self, query: str) -> NDArray[np.float32]:
        """Returns the cosine to each tool; zeros if no word of the question is known."""
        asked = _round_to_steps(load_shipped_vectors().embed([query])[0], QUERY_STEPS).astype(np.float32)
        width = self.leading.shape[1]
        scores = self.leading @ asked[:width]
        if width < len(asked):
            best = np.argpartition(scores, -REFINED_TOOLS)[-REFINED_TOOLS:]
            scores[best] += self.tools[best, width:].astype(np.float32) @ asked[width:]
        return scores / np.float32(TOOL_STEPS * QUERY_STEPS)

    def state(self) -> dict[str, NDArray[Any]]:
        """Returns everything as arrays, for the index file."""
        return {"tools": self.tools}

    @classmethod
    def restore(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Returns the ranker that had this ``state``."""
        return cls._from_vectors(state["tools"])

    @classmethod
    def _from_vectors(cls, tools: NDArray[np.int16]) -> Self:
        width = LEADING_DIMENSIONS if len(tools) >= LARGE_CATALOG else tools.shape[1]
        return cls(tools=tools, leading=np.ascontiguousarray(tools[:, :width], np.float32))


def _round_to_steps(vectors: Floats, steps: int) -> Floats:
    return np.rint(vectors * steps)
