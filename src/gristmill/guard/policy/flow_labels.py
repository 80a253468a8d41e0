"""Remembers the values that came from one server, as hashes: enough to recognise a value, not enough to read it.

Recognised: a value as a whole argument, inside a longer text, in another case, quoted for a URL, and pieces of a long text.
Not recognised: any other encoding, a summary, a value cut in two.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote_plus

from gristmill.guard.mask.json_leaves import collect_scalars
from gristmill.model import Json

SHORTEST_VALUE, SHORTEST_PART, PIECE = 6, 8, 32
"""In characters: the shortest value that counts, the shortest one searched inside texts, and the pieces of a long one."""

_SHORTEST_WORD = 16
"""The shortest single word that is searched inside texts: a shorter one such as ``customer`` is in texts of any origin."""

_LEAST_VARIED = 6
"""The least number of different characters in a piece: a row of dashes is in many texts."""

_LARGEST = 10**100
"""Larger numbers are ignored: they have so many digits that converting them to text takes long."""

MOST_VALUES = 400_000

_CELL_ENDS = re.compile(r"[,;|\t\r\n\"]")
_WORD_ENDS = re.compile(r"[^\w@.+-]+")

_LENGTHS = range(SHORTEST_PART, 2 * PIECE + 1)


class FlowLabels:
    """The values of one source in one session. ``full`` when there were more than fit: then any value may be one of them."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        # Python's own hash has a new key in each process, and is ten times as fast as any other hash here.
        self._hashes: set[int] = set()
        self._lengths_by_start: dict[int, int] = {}
        """By the hash of the first characters of a part: the lengths of such parts, one bit per length."""
        self.full = False

    def __len__(self) -> int:
        return len(self._hashes)

    def remember(self, value: Json) -> None:
        """Remembers every string and number in ``value``, but not the names of fields, which are not data."""
        if self.full:
            return
        # A text is remembered by its hash; a text that is searched inside others also by the hash of its first characters.
        hashes, lengths = self._hashes, self._lengths_by_start
        for text in _collect_texts(value):
            seen = hash(text)
            if seen in hashes:
                continue  # its parts were remembered with it
            hashes.add(seen)
            # The first characters tell where in a text to compare more closely, and at which lengths.
            if len(text) > 2 * PIECE:
                for piece in _cut_long_text(text):
                    start = hash(piece[:SHORTEST_PART])
                    lengths[start] = lengths.get(start, 0) | 1 << PIECE
                    hashes.add(hash(piece))
            elif len(text) >= _SHORTEST_WORD or (len(text) >= SHORTEST_PART and not text.isalpha()):
                start = hash(text[:SHORTEST_PART])
                lengths[start] = lengths.get(start, 0) | 1 << len(text)
        if len(self._hashes) > self._most:
            self.mark_full()

    def remember_text(self, text: str) -> None:
        """Remembers a text that code takes apart: as a whole, its lines, its cells, and the words in it that look like data."""
        cells = {cell.strip() for cell in _CELL_ENDS.split(text)}
        words = {word for word in _WORD_ENDS.split(text) if len(word) >= _SHORTEST_WORD or not word.isalpha()}
        self.remember([text, *text.splitlines(), *(cell for cell in cells if not cell.isalpha()), *words])

    def merge(self, other: "FlowLabels") -> None:
        """Remembers what ``other`` remembers."""
        if other.full:
            self.mark_full()
        if self.full or other is self:
            return
        self._hashes |= other._hashes
        for start, lengths in other._lengths_by_start.items():
            self._lengths_by_start[start] = self._lengths_by_start.get(start, 0) | lengths
        if len(self._hashes) > self._most:
            self.mark_full()

    def mark_full(self) -> None:
        """Takes any value for one of the source from now on: more was seen than can be remembered or looked into."""
        self.full = True
        self._hashes.clear()
        self._lengths_by_start.clear()

    def contains_seen_value(self, value: Json) -> bool:
        """Tells whether ``value``, names of fields included, contains a remembered value, alone or inside a text."""
        return any(
            self._has_seen(spelling) for text in _collect_texts(value, names=True) for spelling in _yield_unquoted_forms(text)
        )

    def _has_seen(self, text: str) -> bool:
        hashes, lengths_at = self._hashes, self._lengths_by_start.get
        if hash(text) in hashes:
            return True
        for at in range(len(text) - SHORTEST_PART + 1) if self._lengths_by_start else ():
            lengths = lengths_at(hash(text[at : at + SHORTEST_PART]))
            if lengths and any(hash(text[at : at + length]) in hashes for length in _LENGTHS if lengths >> length & 1):
                return True
        return False


def _collect_texts(value: Json, *, names: bool = False) -> set[str]:
    """Returns the strings and numbers that are long enough, as text in lower case. Called for every value, so it must be fast."""
    texts: set[str] = set()
    for leaf in collect_scalars(value, names=names):
        if type(leaf) is str:
            text = leaf.strip().lower() if len(leaf) >= SHORTEST_VALUE else ""
        elif type(leaf) is float or (type(leaf) is int and not -9_999 <= leaf <= 99_999 and abs(leaf) < _LARGEST):
            text = str(leaf)
        else:
            continue
        if len(text) >= SHORTEST_VALUE:
            texts.add(text)
    return texts


def _cut_long_text(text: str) -> Iterable[str]:
    """Cuts a long text into the pieces that are searched inside other texts."""
    pieces = [text[at : at + PIECE] for at in range(0, len(text) - PIECE + 1, PIECE)]
    return [piece for piece in pieces if len(set(piece)) >= _LEAST_VARIED]


def _yield_unquoted_forms(text: str) -> Iterable[str]:
    yield text
    if "%" in text or "+" in text:
        yield unquote_plus(text).lower()
