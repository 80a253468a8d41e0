"""Fits the weights that fuse the features of search: ``python -m bench.fit_fusion``. Writes ``catalog/static/fusion.json``.

For every question of the public dev sets the features of its candidates are read by the search that ships. The weights maximize
the probability of the tools that answer a question among its candidates (softmax, a small ridge, every set with a fixed weight).
What they are worth on questions that they were not fitted to is seen by leaving out one set at a time.
``--ranker`` fits the weights for MiniLM beside the word table (needs ``gristmill[search]`` and the model).
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.search.fuse_scores import WEIGHTS_FILE, score_candidates
from gristmill.catalog.search.rankers.rank_dense import DenseRanker
from gristmill.catalog.search.rankers.rank_minilm import MiniLmRanker
from gristmill.catalog.search.tool_index import CANDIDATES, ToolIndex

sys.path.append(str(Path(__file__).parent))
from retrieval import SETS, load_set, ndcg
from search_cost import as_tools

OUT = Path(__file__).parent / "out"
SET_WEIGHTS = {"bfcl": 8.0, "metatool": 8.0}
"""Sets that are far from the others, or hold most questions, weigh more; all others weigh 1."""
MOST_QUESTIONS = 20_000
"""Questions of one set that are used at most unless ``--most`` says otherwise, drawn at random."""
RIDGE, STEPS, RATE = 1e-3, 400, 0.05
Floats = NDArray[np.float32]


class Questions:
    """The candidates of the questions of one set: features, places of the tools, and which of them are right."""

    def __init__(self, name: str, *, ranker: bool, most: int = MOST_QUESTIONS) -> None:
        file = OUT / f"features_{'ranker' if ranker else 'default'}_{most}_{name}.npz"
        self.name, data = name, load_set(name)
        picked = np.arange(len(data.queries))
        if len(picked) > most:
            picked = np.sort(np.random.default_rng(0).choice(picked, most, replace=False))
        self.groups = [data.groups[i] for i in picked]
        if not file.exists():
            index = ToolIndex.build(as_tools(data), meaning=MiniLmRanker if ranker else DenseRanker)
            self._read(index, [data.queries[i] for i in picked], file)
        kept = np.load(file)
        self.names: list[str] = list(kept["names"])
        self.features: Floats = kept["features"].astype(np.float32)
        self.places: NDArray[np.int32] = kept["places"]
        gold = [frozenset[int]().union(*groups) for groups in self.groups]
        self.right = np.array([[int(i) in g for i in row] for row, g in zip(self.places, gold, strict=True)])

    def _read(self, index: ToolIndex, queries: list[str], file: Path) -> None:
        size = min(CANDIDATES, len(index.tools))
        places, names = np.zeros((len(queries), size), np.int32), list[str]()
        rows: list[Floats] = []
        for i, query in enumerate(queries):
            general = index.read_general_features(query)
            best = np.sort(np.argsort(-score_candidates(general), kind="stable")[:size])
            found = index.read_features(query, best, general)
            del found["named"]  # decides by itself: its weight is no matter of fitting
            places[i], names = best, list(found)
            rows.append(np.stack(list(found.values()), axis=1).astype(np.float32))
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, places=places, features=np.stack(rows), names=np.array(names))
        print(f"read {self.name}", file=sys.stderr, flush=True)

    def score(self, weights: NDArray[np.float64]) -> list[float]:
        """nDCG@10 of every question with these weights."""
        order = np.argsort(-(self.features @ weights.astype(np.float32)), axis=1, kind="stable")[:, :10]
        ranked = np.take_along_axis(self.places, order, 1)
        return [ndcg([int(i) for i in row], groups) for row, groups in zip(ranked, self.groups, strict=True)]


def fit(sets: list[Questions]) -> NDArray[np.float64]:
    """The weights for these sets."""
    parts = [
        (each.features[ok], each.right[ok], SET_WEIGHTS.get(each.name, 1.0)) for each in sets if (ok := each.right.any(1)).any()
    ]
    width = parts[0][0].shape[2]
    spread = np.concatenate([features.reshape(-1, width) for features, _, _ in parts]).std(0) + 1e-6
    total = sum(weight for _, _, weight in parts)
    scaled = [(features / spread, right / right.sum(1, keepdims=True), weight / total) for features, right, weight in parts]
    weights, mean, square = np.zeros(width), np.zeros(width), np.zeros(width)
    for step in range(1, STEPS + 1):
        slope = RIDGE * weights
        for features, wanted, weight in scaled:
            scores = features @ weights.astype(np.float32)
            chance = np.exp(scores - scores.max(1, keepdims=True))
            chance /= chance.sum(1, keepdims=True)
            slope = slope + weight * np.tensordot(chance - wanted, features, ([0, 1], [0, 1])) / len(features)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope * slope
        weights = weights - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights / spread


def measure(*, ranker: bool, most: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The weights by name, and what they are worth: on the sets they were fitted to, and on each set when it was left out."""
    sets = [Questions(name, ranker=ranker, most=most) for name in SETS]
    weights = fit(sets)
    fitted = {each.name: round(fmean(each.score(weights)), 4) for each in sets}
    left_out = {each.name: round(fmean(each.score(fit([other for other in sets if other is not each]))), 4) for each in sets}
    return {name: round(float(w), 4) for name, w in zip(sets[0].names, weights, strict=True)}, {
        "fitted to all": fitted | {"mean of sets": round(fmean(fitted.values()), 4)},
        "left out": left_out | {"mean of sets": round(fmean(left_out.values()), 4)},
    }


def main() -> None:
    """Fit, print, write."""
    parser = argparse.ArgumentParser(description="Fits the weights of the fusion.")
    parser.add_argument("--ranker", action="store_true")
    parser.add_argument("--most", type=int, default=MOST_QUESTIONS, help="questions of one set that are used at most")
    chosen = parser.parse_args()
    kind = "ranker" if chosen.ranker else "default"
    weights, worth = measure(ranker=chosen.ranker, most=chosen.most)
    document: dict[str, Any] = json.loads(WEIGHTS_FILE.read_text()) if WEIGHTS_FILE.exists() else {}
    document.setdefault("weights", {})[kind] = weights
    document.setdefault("ndcg@10", {})[kind] = {"questions of a set at most": chosen.most, **worth}
    WEIGHTS_FILE.write_text(json.dumps({"made by": "python -m bench.fit_fusion [--ranker]", **document}, indent=1) + "\n")
    print(json.dumps({kind: {"weights": weights, **worth}}, indent=1))


if __name__ == "__main__":
    main()
