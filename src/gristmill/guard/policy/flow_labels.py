"""What was seen from one server, remembered as hashes: enough to recognise a value, not to read it.

Seen: a value as a whole argument, inside a longer text, in another case, quoted for a URL, and pieces of a long text. Not seen:
any other encoding, a summary, a value cut in two.
"""

from collections.abc import Iterable
from urllib.parse import unquote_plus

from gristmill.guard.mask.json_leaves import scalars
from gristmill.model import Json

SHORTEST_VALUE, SHORTEST_PART, PIECE = 6, 8, 32
"""Characters from which a value counts, from which it is looked for inside of texts, and of the pieces of a long one."""

_SHORTEST_WORD = 16
"""A single word such as ``customer`` says nothing inside of a text, unless it is longer than words are."""

_LEAST_VARIED = 6
"""Different characters that a piece has at least: rows of dashes are in every text."""

_LARGEST = 10**100
"""Numbers from here on have so many digits that writing them takes long."""

MOST_VALUES = 400_000

_LENGTHS = range(SHORTEST_PART, 2 * PIECE + 1)


class Labels:
    """The values of one server in one session. ``full`` once there were more than are kept: then anything may be its value."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        # Python's own hash is keyed anew in each process and ten times as fast as any other here.
        self._whole: set[int] = set()
        self._lengths: dict[int, int] = {}
        """By the first characters of a part, how long such parts are: a bit per length."""
        self.full = False

    def __len__(self) -> int:
        return len(self._whole)

    def remember(self, value: Json) -> None:
        """Every value in ``value``; names of fields say nothing about anybody."""
        if self.full:
            return
        # A whole text is noted once, and what can be found inside of others twice: as it is, and how it begins.
        whole, lengths = self._whole, self._lengths
        for text in _texts(value):
            seen = hash(text)
            if seen in whole:
                continue  # and so are its parts
            whole.add(seen)
            # The first characters say where to look more closely, and at which lengths.
            if len(text) > 2 * PIECE:
                for piece in _pieces(text):
                    start = hash(piece[:SHORTEST_PART])
                    lengths[start] = lengths.get(start, 0) | 1 << PIECE
                    whole.add(hash(piece))
            elif len(text) >= _SHORTEST_WORD or (len(text) >= SHORTEST_PART and not text.isalpha()):
                start = hash(text[:SHORTEST_PART])
                lengths[start] = lengths.get(start, 0) | 1 << len(text)
        if len(self._whole) > self._most:
            self.full = True
            self._whole.clear()
            self._lengths.clear()

    def holds(self, value: Json) -> bool:
        """Whether anything in ``value``, names of fields included, was seen, whole or as a part of a text."""
        return any(self._knows(spelling) for text in _texts(value, names=True) for spelling in _spellings(text))

    def _knows(self, text: str) -> bool:
        whole, lengths_at = self._whole, self._lengths.get
        if hash(text) in whole:
            return True
        for at in range(len(text) - SHORTEST_PART + 1) if self._lengths else ():
            lengths = lengths_at(hash(text[at : at + SHORTEST_PART]))
            if lengths and any(hash(text[at : at + length]) in whole for length in _LENGTHS if lengths >> length & 1):
                return True
        return False


def _texts(value: Json, *, names: bool = False) -> set[str]:
    """Strings and numbers long enough to tell, as they would be written, in small letters. Every value passes here: few calls."""
    texts: set[str] = set()
    for leaf in scalars(value, names=names):
        if type(leaf) is str:
            text = leaf.strip().lower() if len(leaf) >= SHORTEST_VALUE else ""
        elif type(leaf) is float or (type(leaf) is int and not -9_999 <= leaf <= 99_999 and abs(leaf) < _LARGEST):
            text = str(leaf)
        else:
            continue
        if len(text) >= SHORTEST_VALUE:
            texts.add(text)
    return texts


def _pieces(text: str) -> Iterable[str]:
    """What of a long text is looked for inside of others."""
    pieces = [text[at : at + PIECE] for at in range(0, len(text) - PIECE + 1, PIECE)]
    return [piece for piece in pieces if len(set(piece)) >= _LEAST_VARIED]


def _spellings(text: str) -> Iterable[str]:
    yield text
    if "%" in text or "+" in text:
        yield unquote_plus(text).lower()
