"""Chooses how fully each hit of a search is written: by its rank, and by how well it fits compared with the best one.

The shares were chosen on the public dev sets (``python -m bench.answer_details``), which says how many right and how many wrong
tools each share shortens.
"""

from collections.abc import Sequence

from msgspec import Struct

from gristmill.catalog.search.search_hits import SearchHit

FULL_HITS = 2
"""How many hits are written with types and parameters at most; the others get a signature and a sentence."""
FULL_SHARE = 0.85
"""A hit after the first is written in full only from this share of the best score on."""
NAMED_SHARE = 0.7
"""A hit below this share of the best score is only named, with its parameters."""
LEFT_OUT_SHARE = 0.4
"""A hit below this share of the best score is left out of the text."""


class HitDetails(Struct, frozen=True, kw_only=True):
    """The keys of the hits that are written in full, that are only named, and that are left out of the text."""

    full: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()
    left_out: frozenset[str] = frozenset()


def choose_details(hits: Sequence[SearchHit]) -> HitDetails:
    """Chooses for each hit; ``hits`` are in their order, best first."""
    best = max((hit.score for hit in hits), default=0.0)
    if best <= 0:  # a list, or scores that prefer nothing
        return HitDetails(full=tuple(hit.tool.key for hit in hits[:FULL_HITS]))
    others = [(hit.tool.key, hit.score / best) for hit in hits[1:]]
    return HitDetails(
        full=(hits[0].tool.key, *(key for key, share in others[: FULL_HITS - 1] if share >= FULL_SHARE)),
        named=frozenset(key for key, share in others if LEFT_OUT_SHARE <= share < NAMED_SHARE),
        left_out=frozenset(key for key, share in others if share < LEFT_OUT_SHARE),
    )
