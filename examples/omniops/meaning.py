"""Products as vectors: made when the shop is seeded, kept beside it, compared with what somebody asks for.

The word table is the one that Gristmill finds tools with; it ships with the package and runs no model.
"""

from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gristmill.catalog.search.rankers.word_vectors import load_shipped_vectors
from gristmill.catalog.search.search_terms import extract_terms

Floats = NDArray[np.float32]

DESCRIPTION, CATEGORY = 0.3, 0.2
"""How much these say beside the name. The brand says nothing about what a thing is for."""
WORDS = 0.6
"""What it is worth, in units of the cosine, that a product holds every word of the query."""


def to_vectors(products: Sequence[Mapping[str, Any]]) -> list[str]:
    """One vector per product, as it is stored: text, which every database keeps alike."""
    names = [str(product["name"]).removeprefix(str(product["brand"])) for product in products]
    descriptions, categories = ([str(product[field]) for product in products] for field in ("description", "category"))
    embed = load_shipped_vectors().embed
    mixed = embed(names) + np.float32(DESCRIPTION) * embed(descriptions) + np.float32(CATEGORY) * embed(categories)
    mixed /= np.maximum(np.linalg.norm(mixed, axis=1, keepdims=True), 1e-9)
    return [b64encode(row.astype(np.float16).tobytes()).decode() for row in mixed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """Stored vectors, and for each word the products that hold it with what that is worth."""

    vectors: Floats
    words: Mapping[str, tuple[NDArray[np.int64], float]]

    @classmethod
    def of(cls, vectors: Iterable[str], texts: Sequence[str]) -> Self:
        """Vectors and texts of the same products, in the same order."""
        rows = [np.frombuffer(b64decode(vector), np.float16) for vector in vectors]
        held: dict[str, list[int]] = defaultdict(list)
        for place, text in enumerate(texts):
            for term in set(extract_terms(text)):
                held[term].append(place)
        most = float(np.log1p(len(texts)))
        words = {term: (np.array(places), float(np.log1p(len(texts) / len(places))) / most) for term, places in held.items()}
        return cls(vectors=np.array(rows, np.float32).reshape(len(rows), -1), words=words)

    def scores(self, query: str) -> Floats:
        """How well each product fits: by meaning, and by the words it shares, the rarer the more. Zero without an opinion."""
        if not len(self.vectors):
            return np.zeros(0, np.float32)
        scores = self.vectors @ load_shipped_vectors().embed([query])[0].astype(np.float32)
        asked = dict.fromkeys(extract_terms(query))
        for term in asked:
            places, worth = self.words.get(term, (np.zeros(0, np.int64), 0.0))
            scores[places] += np.float32(WORDS * worth / len(asked))
        return scores
