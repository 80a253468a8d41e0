"""Where something was found in a text, and how findings that overlap become one."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import gt, itemgetter

Span = tuple[int, int, str]
"""Start, end and kind. A plain tuple: there may be a million of them."""

Found = list[Span]

GAP = "\0"
"""Stands between strings that are searched together and for placeholders; no pattern matches it."""

BETWEEN = f"\n{GAP}\n"
"""Between strings searched together: ends a line for patterns, and no built-in search crosses it."""

CREDENTIAL = "CREDENTIAL"
"""The kind of the gateway's own secrets, which no placeholder gives back."""


def merged(found: Found) -> Found:
    """In order and without overlaps: what overlaps becomes one span of the kind that began first.
    Only a credential stays one whatever it is a part of: it must never come back.

    Nothing is ever cut off: a part of a finding that another one covers only partly would be left to be read.
    """
    found.sort(key=itemgetter(0))
    starts, ends, _ = zip(*found, strict=True)
    if not any(map(gt, ends, starts[1:])):
        return found  # the common case, and a thousand findings must not cost a thousand steps here
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


def kept_of(text: str, spans: Sequence[Span]) -> list[str]:
    """What stands before each span, and after the last; they are in order and do not overlap."""
    starts, ends, _ = zip(*spans, strict=True) if spans else ((), (), ())
    return [text[end:start] for end, start in zip((0, *ends), (*starts, len(text)), strict=True)]


def interleaved(kept: list[str], stand_ins: Iterable[str]) -> str:
    """All in turn; the first and the last is a ``kept`` one."""
    return "".join(chain(chain.from_iterable(zip(kept, stand_ins, strict=False)), kept[-1:]))


def replaced(text: str, spans: Sequence[Span], stand_ins: Iterable[str]) -> str:
    """``text`` with each span replaced."""
    return interleaved(kept_of(text, spans), stand_ins)


def by_text(texts: Sequence[str], found: Iterable[Span]) -> Iterator[tuple[int, Span]]:
    """Of findings in ``texts`` joined by ``BETWEEN``: which text each is in, and where in it."""
    starts = list(accumulate((len(text) + len(BETWEEN) for text in texts), initial=0))
    for start, end, kind in found:
        which = bisect_right(starts, start) - 1
        offset = starts[which]
        yield which, (start - offset, min(end - offset, len(texts[which])), kind)


def texts_around(joined: str, found: Iterable[Span]) -> Iterator[str]:
    """Those of the texts joined by ``BETWEEN`` that hold findings, which are in order; each once."""
    read_to = 0
    for start, end, _ in found:
        if end > read_to:
            first = joined.rfind(BETWEEN, read_to, start)
            after = joined.find(BETWEEN, end)
            text_start = first + len(BETWEEN) if first >= 0 else 0
            read_to = after if after >= 0 else len(joined)
            yield joined[text_start:read_to]
