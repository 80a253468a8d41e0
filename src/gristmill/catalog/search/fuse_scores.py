"""Fuses the features of a question and a tool into one score: a weighted sum, with weights that were fitted to public questions.

``bench/fit_fusion.py`` makes the weights, leaving out one set of questions at a time to see what they are worth on others.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHTS_FILE = Path(__file__).parents[1] / "static" / "fusion.json"
SURE_DEVIATIONS = (6.0, 12.0)
"""Standard deviations by which the best word match stands out: unsure below the first number, sure above the second."""
MIN_SPREAD = 1e-6
"""Scores that spread less than this express no preference."""
DECIMALS = 4
"""Scores are rounded: sums of the same numbers in another order may differ in the last bit, and equal tools must stay equal."""
_CANDIDATE_WEIGHTS = {"words": 1.0, "meaning": 1.5, "meaning of a clause": 1.0, "ranker": 1.5, "ranker on a clause": 1.0}

RANKED = ("words", "meaning", "meaning of a clause", "near words", "name said", "first sentence", "words said")
"""The features in which the place of a tool among the candidates counts, too: scores say by how much, places in which order."""
PLACE_STEPS = (1, 10)
"""How many places behind the first half of its worth is left: one scale for the very first, one for all in front."""

Floats = NDArray[np.float64]
Scores = NDArray[np.floating[Any]]
"""The scores of a ranker, in any floating-point precision."""


@cache
def load_weights(kind: str) -> Mapping[str, float]:
    """Returns the weight of each feature: ``default``, or ``ranker`` where a heavier ranker is configured."""
    return json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))["weights"][kind]


def fuse_features(features: Mapping[str, Scores], weights: Mapping[str, float]) -> Floats:
    """Returns one score per tool."""
    return _add_weighted([(features[name], weight) for name, weight in weights.items()])


def rank_features(features: Mapping[str, Scores]) -> dict[str, Floats]:
    """Returns for each ranked feature what the places of the tools are worth, from 1 for the best down to nearly 0."""
    found: dict[str, Floats] = {}
    for name in RANKED:
        places = _count_better(features[name])
        found.update({f"{name}, place by {step}": 1 / (1 + places / step) for step in PLACE_STEPS})
    return found


def _count_better(scores: Scores) -> Floats:
    """Returns for each tool how many have a higher score: equal scores have equal places."""
    return np.searchsorted(np.sort(-scores), -scores).astype(np.float64)


def score_candidates(features: Mapping[str, Scores]) -> Floats:
    """Returns a rough score per tool, from the features that are cheap enough to have for every tool."""
    return _add_weighted([(features[name], weight) for name, weight in _CANDIDATE_WEIGHTS.items() if name in features])


def _add_weighted(parts: Sequence[tuple[Scores, float]]) -> Floats:
    total = np.zeros(len(parts[0][0]))
    for scores, weight in parts:
        total += scores.astype(np.float64) * weight
    return np.round(total, DECIMALS)


def measure_sureness(words: Floats) -> float:
    """Returns how clearly the words of a question name a tool, from 0 to 1; ``words`` are standardized scores."""
    return float(np.interp(float(words.max(initial=0.0)), SURE_DEVIATIONS, (0.0, 1.0)))


def standardize_scores(scores: Scores) -> Floats:
    """Scales scores to mean zero and spread one, so that a clear ranking outweighs a flat one; a flat one becomes zeros."""
    exact = scores.astype(np.float64)
    if not len(exact):
        return exact
    spread = float(exact.std())
    if not np.isfinite(spread) or spread < MIN_SPREAD:
        return np.zeros_like(exact)
    return (exact - exact.mean()) / spread
