"""Finds what the operator configured: patterns, names of people, and the gateway's own secrets.

Patterns run in RE2, which does not backtrack: no tool result can make one of them run without end. A search for *every* match
can still take time quadratic in the length with any engine, so texts are cut into pieces first.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import re2

from gristmill.guard.mask.detectors.literal_search import build_literal_search
from gristmill.guard.mask.text.text_spans import CREDENTIAL, Found, Span, cut_spans_at_gaps

_PIECE, _OVERLAP = 4_096, 256
"""The length of the pieces of a longer line, and their overlap: only a part of a longer match may be found."""


def build_pattern_finder(patterns: Mapping[str, str]) -> Callable[[str], Found]:
    """Builds a search for all patterns, each within one line; ``^`` and ``$`` match the ends of the line."""
    compiled = [(name.upper(), _compile_pattern(pattern)) for name, pattern in patterns.items()]
    combined = _combine_patterns(patterns.values())

    def find(text: str) -> Found:
        found: Found = []
        for start, end in _cut_at_lines(text):
            piece = text[start:end]
            if combined and not combined.search(piece):
                continue  # true for most pieces
            for name, pattern in compiled:
                spans = ((start + match.start(), start + match.end(), name) for match in pattern.finditer(piece))
                found.extend(span for span in spans if span[0] < span[1])
        return list(cut_spans_at_gaps(text, found))

    return find


def _compile_pattern(pattern: str) -> Any:  # RE2 has no type annotations
    options = re2.Options()
    options.never_nl = True
    options.log_errors = False
    return re2.compile(f"(?m:{pattern})", options)


def _combine_patterns(patterns: Iterable[str]) -> Any:
    """Compiles all patterns as one; None when they are too large for that, or have groups of the same name."""
    try:
        return _compile_pattern("|".join(f"(?:{pattern})" for pattern in patterns))
    except re2.error:
        return None


def _cut_at_lines(text: str) -> Iterable[tuple[int, int]]:
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


def build_name_finder(names: Iterable[str]) -> Callable[[str], Found]:
    """Builds a search for whole names, as written and in capitals."""
    spellings = sorted({spelling for name in names for spelling in (name, name.upper())})
    search = build_literal_search(spellings)

    def find(text: str) -> Found:
        return [(start, end, "NAME") for _, start, end in search(text) if _is_whole_word(text, start, end)]

    return find


def build_literal_finder(literals: Iterable[str]) -> Callable[[str], Found]:
    """Builds a search for the gateway's credentials, which are also found inside words."""
    search = build_literal_search(sorted(literals))

    def find(text: str) -> Found:
        return [_build_credential_span(match) for match in search(text)]

    return find


def _build_credential_span(match: tuple[int, int, int]) -> Span:
    return match[1], match[2], CREDENTIAL


def _is_whole_word(text: str, start: int, end: int) -> bool:
    return not (start and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum())
