"""Fuses two rankings into one: each in units of its own spread; the less sure the word match, the more meaning counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

MEANING_WEIGHT = (1.2, 2.2)
"""The weight of meaning relative to words: when the words clearly match a tool, and when they do not."""
SURE_DEVIATIONS = (6.0, 12.0)
"""Standard deviations by which the best word match stands out: unsure below the first number, sure above the second."""
MIN_SPREAD = 1e-6
"""Scores that spread less than this express no preference."""
DECIMALS = 4
"""Scores are rounded: sums of the same numbers in another order may differ in the last bit, and equal tools must stay equal."""

Floats = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]
"""The scores of a ranker, in any floating-point precision."""


def fuse_scores(words: Scores, meaning: Scores) -> Floats:
    """Returns one score per tool; the word scores alone if neither ranking has a preference."""
    lexical, dense = standardize_scores(words), standardize_scores(meaning)
    if not (lexical.any() or dense.any()):
        return words.astype(np.float64)  # one tool, or equal tools: nothing stands out, but the words match or do not
    best = float(lexical.max(initial=0.0))
    sure, unsure = MEANING_WEIGHT
    weight = float(np.interp(best, SURE_DEVIATIONS, (unsure, sure)))
    return np.round(lexical + dense * weight, DECIMALS)


def standardize_scores(scores: Scores) -> Floats:
    """Scales scores to mean zero and spread one, so that a clear ranking outweighs a flat one; a flat one becomes zeros."""
    exact = scores.astype(np.float64)
    if not len(exact):
        return exact
    spread = float(exact.std())
    if not np.isfinite(spread) or spread < MIN_SPREAD:
        return np.zeros_like(exact)
    return (exact - exact.mean()) / spread
