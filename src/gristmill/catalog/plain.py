"""The same ranking for one question, in plain Python: who asks once and leaves would wait longer for arrays than for sums.

Reads the bytes of a saved index and comes to the same scores as `search.Index`; a test holds the two against each other.
"""

import math
import struct
import sys
from array import array
from collections.abc import Mapping, Sequence
from operator import mul
from pathlib import Path
from typing import Any

from gristmill.catalog.index_bytes import Stretch
from gristmill.catalog.pieces import FOLDER, Lines, read_pieces, split_word
from gristmill.catalog.usage import Habits
from gristmill.catalog.weights import (
    DECIMALS,
    FLAT,
    LARGE,
    MAX_QUERY_CHARS,
    MEANING_WEIGHT,
    QUERY_STEPS,
    SURE_FROM,
    TOOL_STEPS,
)
from gristmill.catalog.words import terms, words
from gristmill.values import dataclass

_KINDS = {"<i2": "h", "<i4": "i", "<i8": "q", "<f4": "f", "|u1": "B"}
_ITEM = ("words.terms", "words.starts", "words.tools", "words.worth", "meaning.columns")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainIndex:
    """A saved index of fewer than ``LARGE`` tools, and their keys in its order."""

    keys: Sequence[str]
    numbers: Mapping[str, Any]

    @classmethod
    def of(cls, keys: Sequence[str], stretches: Mapping[str, Stretch]) -> "PlainIndex | None":
        """The index in ``stretches``, or nothing where it is not one that is read here."""
        known = [stretches[name] for name in _ITEM if name in stretches]
        usable = len(known) == len(_ITEM) and all(each.kind in _KINDS for each in known) and sys.byteorder == "little"
        if not usable or not 0 < len(keys) < LARGE or stretches["meaning.columns"].shape[1:] != (len(keys),):
            return None
        return cls(keys=keys, numbers={name: _numbers(stretches[name]) for name in _ITEM})

    def search(self, query: str, limit: int, among: range, habits: Habits | None = None) -> list[tuple[int, float]]:
        """The best of ``among`` for a question, best first, each with its score; as ``Index.search`` has them."""
        query = query[:MAX_QUERY_CHARS]
        scores = fuse(self._words(query), self._meaning(query))
        places = {key: i for i, key in enumerate(self.keys)}
        for key, lift in (habits.lifts(query) if habits else {}).items():
            if key in places:
                scores[places[key]] += lift
        named = places.get(query.strip())
        if named is not None:
            scores[named] = max(scores) + 1
        if not any(scores) or limit < 1:
            return []
        best = sorted(among, key=lambda i: -scores[i])[:limit]  # equal scores keep the catalogue's order
        return [(i, scores[i]) for i in best]

    def _words(self, query: str) -> list[float]:
        numbers = self.numbers
        scores = [0.0] * len(self.keys)
        known = Lines(numbers["words.terms"].tobytes())
        starts, tools, worth = numbers["words.starts"], numbers["words.tools"], numbers["words.worth"]
        for term in dict.fromkeys(terms(query)):
            at = known.get(term)
            if at is not None:
                first, last = starts[at], starts[at + 1]
                for tool, value in zip(tools[first:last], worth[first:last], strict=True):
                    scores[tool] += value
        return scores

    def _meaning(self, query: str) -> list[float]:
        asked = [round(value * QUERY_STEPS) for value in embed(query)]
        return [total / (TOOL_STEPS * QUERY_STEPS) for total in _products(self.numbers["meaning.columns"], len(self.keys), asked)]


def _products(columns: "array[int]", count: int, asked: Sequence[int]) -> list[int]:
    """What each of ``count`` tools comes to: the sum over all columns of its number there by the one asked for.

    A column is taken as one long integer with a lane of 32 bits per tool, so that multiplying it is one step for all of them.
    Lanes hold no sign and must not run over: numbers are lifted by 2**15, what is asked for is at most 2**15 in all.
    """
    size, lanes = 2 * count, (count + 1) // 2  # two tools share 32 bits in the file: each second one has a number of its own
    low = int.from_bytes(b"\xff\xff\0\0" * lanes, "little")
    lifted = int.from_bytes(b"\0\x80" * count, "little")
    content = columns.tobytes()
    sums = {True: [0, 0], False: [0, 0]}
    for i, value in enumerate(asked):
        if value:
            column = int.from_bytes(content[i * size : (i + 1) * size], "little") ^ lifted
            even, odd = sums[value > 0]
            sums[value > 0] = [even + (column & low) * abs(value), odd + (column >> 16 & low) * abs(value)]
    lift, (more, less) = sum(asked) << 15, (_apart(sums[sign], lanes) for sign in (True, False))
    return [added - taken - lift for added, taken in zip(more[:count], less, strict=False)]


def _apart(whole: Sequence[int], lanes: int) -> list[int]:
    """The lanes of two long integers, in turn."""
    found = [0] * (2 * lanes)
    found[::2], found[1::2] = (array("I", each.to_bytes(4 * lanes, "little")) for each in whole)
    return found


def embed(text: str, folder: Path = FOLDER) -> list[float]:
    """The unit vector of ``text``, as ``Vectors.embed`` has it; all zeros where no word is known."""
    pieces = read_pieces(folder)
    row_of = Lines(pieces).get
    rows = [row for word in words(text) for row in split_word(row_of, word)]
    with (folder / "vectors.npy").open("rb") as file:
        start = 10 + int.from_bytes(file.read(10)[8:], "little")
        size = (file.seek(0, 2) - start) // (pieces.count(b"\n") + 1)
        width = size - 4
        layout = struct.Struct(f"<f{width}b")  # one scale, then eight-bit numbers
        sums = [0.0] * width
        for row in rows:
            file.seek(start + row * size)
            scale, *values = layout.unpack(file.read(size))
            sums = [total + scale * value for total, value in zip(sums, values, strict=True)]
    length = max(math.sqrt(math.fsum(map(mul, sums, sums))), 1e-9)
    return [total / length for total in sums]


def fuse(lexical: Sequence[float], dense: Sequence[float]) -> list[float]:
    """As ``fuse.fuse``."""
    by_words, by_meaning = _standardized(lexical), _standardized(dense)
    if not (any(by_words) or any(by_meaning)):
        return list(lexical)
    (low, high), (sure, unsure) = SURE_FROM, MEANING_WEIGHT
    best = min(max(*by_words, low), high)
    weight = unsure + (best - low) * (sure - unsure) / (high - low)
    unit = 10.0**DECIMALS
    return [round((words + meaning * weight) * unit) / unit for words, meaning in zip(by_words, by_meaning, strict=True)]


def _standardized(scores: Sequence[float]) -> list[float]:
    mean = math.fsum(scores) / len(scores)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    if spread < FLAT:
        return [0.0] * len(scores)
    return [(score - mean) / spread for score in scores]


def _numbers(stretch: Stretch) -> "array[Any]":
    found: array[Any] = array(_KINDS[stretch.kind])
    found.frombytes(stretch.content)
    return found
