"""The static word table: one vector per word piece, read from a file of this package and added up. No model runs.

The table was distilled from all-MiniLM-L6-v2 by ``bench/distill.py``; see ``static/NOTICE``.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from gristmill.catalog.search.search_terms import split_words

FOLDER = Path(__file__).parents[2] / "static"
_LONGEST_PIECE = 18  # letters, in the vocabulary

Floats = NDArray[np.float64]


class WordVectors(Struct, frozen=True, kw_only=True):
    """Word pieces (``##ing`` continues a word), and for each piece eight-bit numbers with one scale."""

    pieces: Mapping[str, int]
    rows: NDArray[Any]

    @classmethod
    def read(cls, folder: Path = FOLDER) -> Self:
        """Maps the table into memory; pages are read when a word first needs them."""
        pieces = (folder / "pieces.txt").read_text(encoding="utf-8").split("\n")
        mapped = np.load(folder / "vectors.npy", mmap_mode="r")
        return cls(pieces=dict(zip(pieces, count())), rows=np.asarray(mapped))

    @property
    def width(self) -> int:
        return self.rows.dtype["values"].shape[0]

    def embed(self, texts: Sequence[str]) -> Floats:
        """Returns one unit vector per text; all zeros if no word is known."""
        sums = np.zeros((len(texts), self.width))
        for i, text in enumerate(texts):
            rows = self.rows[[piece for word in split_words(text) for piece in _find_pieces(self, word)]]
            sums[i] = rows["scale"].astype(np.float64) @ rows["values"].astype(np.float64)
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)

    def __hash__(self) -> int:
        return id(self)


@cache
def load_shipped_vectors() -> WordVectors:
    """Returns the table of this package, read once: it never changes while the process lives."""
    return WordVectors.read()


@lru_cache(maxsize=65_536)
def _find_pieces(vectors: WordVectors, word: str) -> tuple[int, ...]:
    return split_word(vectors.pieces, word)


def split_word(pieces: Mapping[str, int], word: str) -> tuple[int, ...]:
    """Returns the rows of a word's pieces, split greedily as by the model's own tokenizer; empty if a part is unknown."""
    found: list[int] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        longest = min(len(word), start + _LONGEST_PIECE)
        end = next((end for end in range(longest, start, -1) if prefix + word[start:end] in pieces), None)
        if end is None:
            return ()
        found.append(pieces[prefix + word[start:end]])
        start = end
    return tuple(found)
