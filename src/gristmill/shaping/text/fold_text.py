"""Folds long texts in the middle. A mask placeholder is kept or left out, never cut: half of one means nothing."""

import re

MASK = re.compile(r"<[A-Z][A-Z0-9_]{0,40}_[0-9A-Za-z]{1,20}>")
"""A placeholder that replaces a masked value: ``<EMAIL_k3f9a2>``."""
LONGEST_MASK = 64


def fold_text(text: str, most: int) -> str:
    """Shortens ``text`` to about ``most`` characters: the first two thirds, how much was left out, the last third."""
    if len(text) <= most:
        return text
    head = cut_before_mask(text, most * 2 // 3)
    tail = max(cut_after_mask(text, len(text) - most // 3), head)
    folded = f"{text[:head]}...[{tail - head:,} characters left out]...{text[tail:]}"
    return folded if len(folded) < len(text) else text


def cut_before_mask(text: str, at: int) -> int:
    """Returns ``at``, or the start of the placeholder that a cut there would split."""
    return next((start for start, end in _find_masks_around(text, at) if start < at < end), at)


def cut_after_mask(text: str, at: int) -> int:
    """Returns ``at``, or the end of the placeholder that a cut there would split."""
    return next((end for start, end in _find_masks_around(text, at) if start < at < end), at)


def _find_masks_around(text: str, at: int) -> list[tuple[int, int]]:
    low = max(0, at - LONGEST_MASK)
    return [(low + found.start(), low + found.end()) for found in MASK.finditer(text[low : at + LONGEST_MASK])]
