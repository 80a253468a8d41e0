"""Decodes the lines of a text that hold characters in another form, and maps what is found there back to the text.

``ann\\u0040example.com`` and ``ann%40example.com`` are mail addresses for every program that reads them. Other lines are left
out, since the search in the text itself finds everything in them.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from gristmill.guard.mask.text.plain_characters import CharacterPatterns, choose_patterns, decode_unit
from gristmill.guard.mask.text.text_spans import SEPARATOR, Found, Span

Place = tuple[int, int]
"""Start and end in the original text."""


class _Pieces(Struct, frozen=True):
    """The pieces of the decoded text, escapes and what is between them: where each one begins, and its place in the original."""

    starts: list[int]
    places: list[Place]
    escapes: list[Place]
    """The places of those pieces that have another length in the decoded text."""


class DecodedLines:
    """The decoded lines of a text, as one text with a separator after each line."""

    def __init__(self, original: str, lines: list[Place], patterns: CharacterPatterns) -> None:
        self._original, self._lines, self._patterns = original, lines, patterns
        self.text = "".join(f"{patterns.unit.sub(decode_unit, original[first:last])}{SEPARATOR}" for first, last in lines)

    def locate(self, found: Found) -> Found:
        """Returns the spans in the original text for spans in the decoded text."""
        # A key of many lines can reach into a separator, which has no place in the original text.
        found = [(start, start + max(1, len(self.text[start:end].rstrip(SEPARATOR))), kind) for start, end, kind in found]
        return [(self._locate_start(start), self._locate_end(end), kind) for start, end, kind in found]

    def correct(self, found: Found, decoded: Found) -> Found:
        """Returns findings in the original text and in the decoded lines together, without those that misread an escape.

        In ``\\nann@example.com`` the search in the text finds ``nann@example.com``. If a decoded finding covers the rest of such
        a finding, that one is right; otherwise the finding is extended over the escape, so that no half of it is left.
        """
        right = sorted(decoded)
        kept: Found = []
        for start, end, kind in found:
            first = self._find_escape_around(start) or (start, start)
            last = self._find_escape_around(end) or (end, end)
            if (first[0] == start and last[1] == end) or not _is_covered(right, first[1], last[0]):
                kept.append((first[0], last[1], kind))
        return kept + decoded

    @cached_property
    def _pieces(self) -> _Pieces:
        """Computed only when something was found: most texts with escapes hold nothing to be masked."""
        made = _Pieces([], [], [])
        length = 0
        for decoded, place in self._cut_pieces():
            made.starts.append(length)
            made.places.append(place)
            if len(decoded) != place[1] - place[0] and decoded is not SEPARATOR:
                made.escapes.append(place)
            length += len(decoded)
        return made

    def _cut_pieces(self) -> Iterator[tuple[str, Place]]:
        for first, last in self._lines:
            line, at = self._original[first:last], 0
            for match in self._patterns.unit.finditer(line):
                start, end = match.span()
                if start > at:
                    yield line[at:start], (first + at, first + start)
                yield decode_unit(match), (first + start, first + end)
                at = end
            yield line[at:], (first + at, last)
            yield SEPARATOR, (last, last)

    def _locate_start(self, start: int) -> int:
        at, offset = self._find_piece(start)
        place = self._pieces.places[at]
        return place[0] + offset if self._has_same_length(at) else place[0]

    def _locate_end(self, end: int) -> int:
        at, offset = self._find_piece(end - 1)
        place = self._pieces.places[at]
        return place[0] + offset + 1 if self._has_same_length(at) else place[1]

    def _find_piece(self, place: int) -> tuple[int, int]:
        """Returns the number of the piece at a place of the decoded text, and how far inside of it the place is."""
        at = bisect_right(self._pieces.starts, place) - 1
        return at, place - self._pieces.starts[at]

    def _has_same_length(self, at: int) -> bool:
        pieces = self._pieces
        decoded_end = pieces.starts[at + 1] if at + 1 < len(pieces.starts) else len(self.text)
        return decoded_end - pieces.starts[at] == pieces.places[at][1] - pieces.places[at][0]

    def _find_escape_around(self, place: int) -> Place | None:
        """Returns the place of the escape that begins before ``place`` and ends after it."""
        escapes = self._pieces.escapes
        at = bisect_right(escapes, place, key=_get_start) - 1
        return escapes[at] if at >= 0 and escapes[at][0] < place < escapes[at][1] else None


def _get_start(span: Span | Place) -> int:
    return span[0]


def _is_covered(spans: list[Span], start: int, end: int) -> bool:
    """Tells whether the last span that begins up to ``start`` ends at ``end`` or later."""
    at = bisect_right(spans, start, key=_get_start) - 1
    return at >= 0 and spans[at][1] >= end


def decode_lines(text: str) -> DecodedLines | None:
    """Decodes the lines of ``text`` in which decoding can reveal something; None if there are none."""
    patterns = choose_patterns(text)
    reason = patterns.reason.search(text) if patterns else None
    if patterns is None or reason is None:
        return None
    lines: list[Place] = []
    while reason:
        first = text.rfind("\n", 0, reason.start()) + 1
        last = text.find("\n", reason.start())
        last = last if last >= 0 else len(text)
        lines.append((first, last))
        reason = patterns.reason.search(text, last)
    return DecodedLines(text, lines, patterns)


def has_encoded(text: str) -> bool:
    """Tells whether decoding can reveal something in ``text``."""
    patterns = choose_patterns(text)
    return patterns is not None and patterns.reason.search(text) is not None


def decode_text(text: str) -> str:
    """Returns a whole text with all characters in their plain form."""
    patterns = choose_patterns(text)
    return patterns.unit.sub(decode_unit, text) if patterns else text
