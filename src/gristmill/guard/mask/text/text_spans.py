"""Spans of a text in which something was found: merging, cutting and replacing them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from operator import gt, itemgetter

Span = tuple[int, int, str]
"""Start, end and kind. A plain tuple, since there may be a million of them."""

Found = list[Span]

GAP = "\0"
"""The character that separates strings searched together, and that hides placeholders; no pattern matches it."""

SEPARATOR = f"\n{GAP}\n"
"""The separator between strings searched together: it ends the line for patterns, and no built-in search crosses it."""

CREDENTIAL = "CREDENTIAL"
"""The kind of the gateway's own secrets, whose placeholders are never restored."""


def merge_spans(found: Found) -> Found:
    """Sorts spans and merges those that overlap into one, with the kind of the one that begins first.

    A span that contains a credential always becomes a credential, which must never be restored. No span is shortened: the part
    of a finding that another one does not cover would stay readable.
    """
    found.sort(key=itemgetter(0))
    starts, ends, _ = zip(*found, strict=True)
    if not any(map(gt, ends, starts[1:])):
        return found  # the common case, which must stay fast with a thousand findings
    found.sort(key=lambda span: (span[0], -span[1]))
    result: Found = []
    for start, end, kind in found:
        if result and start < result[-1][1]:
            first = result[-1]
            result[-1] = (first[0], max(first[1], end), CREDENTIAL if kind == CREDENTIAL else first[2])
        else:
            result.append((start, end, kind))
    return result


def cut_spans_at_gaps(text: str, found: Iterable[Span]) -> Iterable[Span]:
    """Yields each span cut at the gaps in it, so that no finding holds parts of two strings."""
    for start, end, kind in found:
        if GAP not in text[start:end]:
            yield start, end, kind
            continue
        at = start
        for part in text[start:end].split(GAP):
            if part:
                yield at, at + len(part), kind
            at += len(part) + 1


def split_around_spans(text: str, spans: Sequence[Span]) -> list[str]:
    """Returns the text before each span and after the last one; the spans are in order and do not overlap."""
    starts, ends, _ = zip(*spans, strict=True) if spans else ((), (), ())
    return [text[end:start] for end, start in zip((0, *ends), (*starts, len(text)), strict=True)]


def interleave_parts(kept: list[str], stand_ins: Iterable[str]) -> str:
    """Joins both lists alternately; the first and the last part are from ``kept``."""
    return "".join(chain(chain.from_iterable(zip(kept, stand_ins, strict=False)), kept[-1:]))


def replace_spans(text: str, spans: Sequence[Span], stand_ins: Iterable[str]) -> str:
    """Returns ``text`` with each span replaced by its stand-in."""
    return interleave_parts(split_around_spans(text, spans), stand_ins)


def locate_spans(texts: Sequence[str], found: Iterable[Span]) -> Iterator[tuple[int, Span]]:
    """Yields for each finding in joined texts the number of its text and its span in that text."""
    starts = list(accumulate((len(text) + len(SEPARATOR) for text in texts), initial=0))
    for start, end, kind in found:
        which = bisect_right(starts, start) - 1
        offset = starts[which]
        yield which, (start - offset, min(end - offset, len(texts[which])), kind)


def find_texts_with_spans(joined: str, found: Iterable[Span]) -> Iterator[str]:
    """Yields those of the joined texts that hold a finding, each once; the findings are in order."""
    read_to = 0
    for start, end, _ in found:
        if end > read_to:
            first = joined.rfind(SEPARATOR, read_to, start)
            after = joined.find(SEPARATOR, end)
            text_start = first + len(SEPARATOR) if first >= 0 else 0
            read_to = after if after >= 0 else len(joined)
            yield joined[text_start:read_to]
