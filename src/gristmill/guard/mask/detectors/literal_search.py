"""Searches for many fixed texts in one pass of an automaton."""

from collections.abc import Callable, Sequence

from ahocorasick_rs import AhoCorasick, BytesAhoCorasick, Implementation, MatchKind

Matches = list[tuple[int, int, int]]
"""For each match: the number of the literal, start and end."""


def build_literal_search(literals: Sequence[str], implementation: Implementation | None = None) -> Callable[[str], Matches]:
    """Builds a search for all literals; of several that begin at the same place, it finds the longest."""
    kind = MatchKind.LeftmostLongest
    if not all(literal.isascii() and "?" not in literal for literal in literals):
        return AhoCorasick(literals, matchkind=kind, implementation=implementation).find_matches_as_indexes
    # Positions in a str need a table as long as the text. With one byte per character ("?" if it has none) they are the same.
    automaton = BytesAhoCorasick([literal.encode() for literal in literals], matchkind=kind, implementation=implementation)
    return lambda text: automaton.find_matches_as_indexes(text.encode("latin-1", "replace"))
