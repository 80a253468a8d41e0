"""Where something was found in a text, and how findings that overlap become one."""

from collections.abc import Iterable

Span = tuple[int, int, str]
"""Start, end and kind. A plain tuple: there may be a million of them."""

Found = list[Span]

GAP = "\0"
"""Stands between strings that are searched together and for placeholders; no pattern matches it."""

CREDENTIAL = "CREDENTIAL"
"""The kind of the gateway's own secrets, which no placeholder gives back."""


def merged(found: Found) -> Found:
    """In order and without overlaps: what overlaps becomes one span of the kind that began first.
    Only a credential stays one whatever it is a part of: it must never come back.

    Nothing is ever cut off: a part of a finding that another one covers only partly would be left to be read.
    """
    found.sort(key=lambda span: (span[0], -span[1]))
    result: Found = []
    for start, end, kind in found:
        if result and start < result[-1][1]:
            first = result[-1]
            result[-1] = (first[0], max(first[1], end), CREDENTIAL if kind == CREDENTIAL else first[2])
        else:
            result.append((start, end, kind))
    return result


def without_gaps(text: str, found: Iterable[Span]) -> Iterable[Span]:
    """Each span cut at the gaps in it, so that no finding holds a part of two strings."""
    for start, end, kind in found:
        if GAP not in text[start:end]:
            yield start, end, kind
            continue
        at = start
        for part in text[start:end].split(GAP):
            if part:
                yield at, at + len(part), kind
            at += len(part) + 1
