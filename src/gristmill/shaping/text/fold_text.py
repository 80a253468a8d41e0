"""Long texts folded in the middle. A placeholder of the mask is kept or left out, never cut: half of one means nothing."""

import re

MASK = re.compile(r"<[A-Z][A-Z0-9_]{0,40}_[0-9A-Za-z]{1,20}>")
"""``<EMAIL_k3f9a2>``: what stands in for a masked value."""
LONGEST_MASK = 64


def fold(text: str, most: int) -> str:
    """``text`` with about ``most`` characters of it: the first two thirds, how much was left out, the last third."""
    if len(text) <= most:
        return text
    head = cut_before(text, most * 2 // 3)
    tail = max(cut_after(text, len(text) - most // 3), head)
    folded = f"{text[:head]}...[{tail - head:,} characters left out]...{text[tail:]}"
    return folded if len(folded) < len(text) else text


def cut_before(text: str, at: int) -> int:
    """``at``, or the start of the placeholder that it would cut."""
    return next((start for start, end in _masks_around(text, at) if start < at < end), at)


def cut_after(text: str, at: int) -> int:
    """``at``, or the end of the placeholder that it would cut."""
    return next((end for start, end in _masks_around(text, at) if start < at < end), at)


def _masks_around(text: str, at: int) -> list[tuple[int, int]]:
    low = max(0, at - LONGEST_MASK)
    return [(low + found.start(), low + found.end()) for found in MASK.finditer(text[low : at + LONGEST_MASK])]
