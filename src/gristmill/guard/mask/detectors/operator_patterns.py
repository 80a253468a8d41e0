"""What the operator named: patterns, names of people, and the gateway's own secrets.

Patterns run in RE2, which has no backtracking: no tool result can make one of them take for ever. Searching for *every* match can
still take the square of the length with any engine, so texts are cut into pieces first.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import re2

from gristmill.guard.mask.detectors.literal_search import literal_search
from gristmill.guard.mask.text_spans import CREDENTIAL, Found, Span, without_gaps

_PIECE, _OVERLAP = 4_096, 256
"""Characters read at once when a line is longer, and how far pieces overlap: a longer match may be seen in part only."""


def pattern_finder(patterns: Mapping[str, str]) -> Callable[[str], Found]:
    """A search for each pattern under its name; within one line, ``^`` and ``$`` being the ends of the line."""
    compiled = [(name.upper(), _compiled(pattern)) for name, pattern in patterns.items()]
    any_of_them = _any_of(patterns.values())

    def find(text: str) -> Found:
        found: Found = []
        for start, end in _pieces(text):
            piece = text[start:end]
            if any_of_them and not any_of_them.search(piece):
                continue  # so it is with most
            for name, pattern in compiled:
                spans = ((start + match.start(), start + match.end(), name) for match in pattern.finditer(piece))
                found.extend(span for span in spans if span[0] < span[1])
        return list(without_gaps(text, found))

    return find


def _compiled(pattern: str) -> Any:  # RE2 comes without types
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    return re2.compile(f"(?m:{pattern})", options)


def _any_of(patterns: Iterable[str]) -> Any:
    """All patterns as one; nothing where they are too large for that, or have groups of the same name."""
    try:
        return _compiled("|".join(f"(?:{pattern})" for pattern in patterns))
    except re2.error:
        return None


def _pieces(text: str) -> Iterable[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = min(start + _PIECE, len(text))
        line_end = text.rfind("\n", start, end) if end < len(text) else -1
        if line_end > start:
            yield start, line_end
            start = line_end
        else:
            yield start, end
            start = end if end == len(text) else end - _OVERLAP


def name_finder(names: Iterable[str]) -> Callable[[str], Found]:
    """A search for whole names, as written and in capitals."""
    spellings = sorted({spelling for name in names for spelling in (name, name.upper())})
    search = literal_search(spellings)

    def find(text: str) -> Found:
        return [(start, end, "NAME") for _, start, end in search(text) if _is_whole(text, start, end)]

    return find


def literal_finder(literals: Iterable[str]) -> Callable[[str], Found]:
    """A search for credentials of the gateway, wherever they stand."""
    search = literal_search(sorted(literals))

    def find(text: str) -> Found:
        return [_credential(match) for match in search(text)]

    return find


def _credential(match: tuple[int, int, int]) -> Span:
    return match[1], match[2], CREDENTIAL


def _is_whole(text: str, start: int, end: int) -> bool:
    return not (start and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum())
