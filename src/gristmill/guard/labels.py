"""What was seen from one server, remembered as hashes: enough to recognise a value, not to read it.

Seen: a value as a whole argument, inside a longer text, in another case, quoted for a URL, and pieces of a long text. Not seen:
any other encoding, a summary, a value cut in two.
"""

from collections.abc import Iterable
from urllib.parse import unquote_plus

from gristmill.guard.leaves import scalars
from gristmill.model import Json

SHORTEST_VALUE, SHORTEST_PART, PIECE = 6, 8, 32
"""Characters from which a value counts, from which it is looked for inside of texts, and of the pieces of a long one."""

_SHORTEST_WORD = 16
"""A single word such as ``customer`` says nothing inside of a text, unless it is longer than words are."""

_LEAST_VARIED = 6
"""Different characters that a piece has at least: rows of dashes are in every text."""

MOST_VALUES = 400_000


class Labels:
    """The values of one server in one session. ``full`` once there were more than are kept: then anything may be its value."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        # Python's own hash is keyed anew in each process and ten times as fast as any other here.
        self._whole: set[int] = set()
        self._lengths: dict[int, set[int]] = {}
        self.full = False

    def __len__(self) -> int:
        return len(self._whole)

    def remember(self, value: Json) -> None:
        """Every value in ``value``; names of fields say nothing about anybody."""
        whole, lengths = self._whole, self._lengths
        for text in _texts(value):
            if len(whole) >= self._most:
                self.full = True
                return
            if len(text) < SHORTEST_VALUE and len(text) < SHORTEST_PART:
                continue
            if len(text) >= SHORTEST_VALUE:
                whole.add(hash(text))
            for part in _parts(text):
                # The first characters say where to look more closely, and at which lengths.
                lengths.setdefault(hash(part[:SHORTEST_PART]), set()).add(len(part))
                whole.add(hash(part))

    def holds(self, value: Json) -> bool:
        """Whether anything in ``value``, names of fields included, was seen, whole or as a part of a text."""
        texts = (spelling for text in _texts(value, names=True) for spelling in _spellings(text))
        return any(self._knows(text) for text in texts)

    def _knows(self, text: str) -> bool:
        if len(text) >= SHORTEST_VALUE and hash(text) in self._whole:
            return True
        whole, lengths_at = self._whole, self._lengths.get
        for at in range(len(text) - SHORTEST_PART + 1) if self._lengths else ():
            lengths = lengths_at(hash(text[at : at + SHORTEST_PART]))
            if lengths and any(hash(text[at : at + length]) in whole for length in lengths):
                return True
        return False


def _texts(value: Json, *, names: bool = False) -> Iterable[str]:
    """Strings and numbers as they would be written, in small letters; yes, no and nothing belong to nobody."""
    for leaf in scalars(value, names=names):
        if type(leaf) is str:
            yield leaf.strip().lower()
        elif type(leaf) is float or (type(leaf) is int and abs(leaf) < 10**100):
            yield str(leaf)


def _parts(text: str) -> Iterable[str]:
    """What of ``text`` is looked for inside of others: all of it, or the pieces of a long one."""
    if len(text) > 2 * PIECE:
        pieces = (text[at : at + PIECE] for at in range(0, len(text) - PIECE + 1, PIECE))
        yield from (piece for piece in pieces if len(set(piece)) >= _LEAST_VARIED)
    elif len(text) >= (_SHORTEST_WORD if text.isalpha() else SHORTEST_PART):
        yield text


def _spellings(text: str) -> Iterable[str]:
    yield text
    if "%" in text or "+" in text:
        yield unquote_plus(text)
