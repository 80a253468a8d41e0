"""Two opinions become one ranking: each in units of its own spread; the vaguer the words, the more meaning counts."""

import numpy as np
from numpy.typing import NDArray

MEANING_WEIGHT = (1.2, 2.2)
"""How much meaning counts against words when the words are sure of a tool, and when they are not."""
SURE_FROM = (6.0, 12.0)
"""By how many standard deviations the best lexical match stands out: unsure below the first, sure above the second."""

Floats = NDArray[np.float32]


def fuse(words: Floats, meaning: Floats) -> Floats:
    """One score per tool; all zeros when neither has an opinion."""
    lexical, dense = standardized(words), standardized(meaning)
    if not (lexical.any() or dense.any()):
        return words  # one tool, or tools that are all alike: nothing stands out, but the words still fit or do not
    best = float(lexical.max(initial=0.0))
    sure, unsure = MEANING_WEIGHT
    weight = float(np.interp(best, SURE_FROM, (unsure, sure)))
    # Rounded, because a matrix product may give equal rows results that differ in the last bit, and ties must be ties.
    return np.round(lexical + np.multiply(dense, weight, dtype=np.float32), 4)


def standardized(scores: Floats) -> Floats:
    """Mean zero, spread one. A ranking that stands out clearly so outweighs a flat one; a flat one becomes zeros."""
    if not len(scores):
        return scores
    spread = float(scores.std())
    if not np.isfinite(spread) or spread < 1e-6:
        return np.zeros_like(scores)
    return (scores - scores.mean()) / np.float32(spread)
