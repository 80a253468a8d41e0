"""Two opinions become one ranking: each in units of its own spread; the vaguer the words, the more meaning counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MEANING_WEIGHT = (1.2, 2.2)
"""How much meaning counts against words when the words are sure of a tool, and when they are not."""
SURE_FROM = (6.0, 12.0)
"""By how many standard deviations the best lexical match stands out: unsure below the first, sure above the second."""
FLAT = 1e-6
"""Scores that spread less than this are no opinion."""
DECIMALS = 4
"""Scores are rounded to these: sums of the same numbers in another order may differ in the last bit, and ties must be ties."""

Floats = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]
"""What a ranker says: as exact as it likes."""


def fuse(words: Scores, meaning: Scores) -> Floats:
    """One score per tool; all zeros when neither has an opinion."""
    lexical, dense = standardized(words), standardized(meaning)
    if not (lexical.any() or dense.any()):
        return words.astype(np.float64)  # one tool, or tools that are all alike: nothing stands out, but words fit or do not
    best = float(lexical.max(initial=0.0))
    sure, unsure = MEANING_WEIGHT
    weight = float(np.interp(best, SURE_FROM, (unsure, sure)))
    return np.round(lexical + dense * weight, DECIMALS)


def standardized(scores: Scores) -> Floats:
    """Mean zero, spread one. A ranking that stands out clearly so outweighs a flat one; a flat one becomes zeros."""
    exact = scores.astype(np.float64)
    if not len(exact):
        return exact
    spread = float(exact.std())
    if not np.isfinite(spread) or spread < FLAT:
        return np.zeros_like(exact)
    return (exact - exact.mean()) / spread
