"""Many fixed texts looked for in one pass of an automaton."""

from collections.abc import Callable, Sequence

from ahocorasick_rs import AhoCorasick, BytesAhoCorasick, Implementation, MatchKind

Matches = list[tuple[int, int, int]]
"""Which, start, end."""


def literal_search(literals: Sequence[str], implementation: Implementation | None = None) -> Callable[[str], Matches]:
    """A search for all of them; of those that begin at the same place, for the longest."""
    kind = MatchKind.LeftmostLongest
    if not all(literal.isascii() and "?" not in literal for literal in literals):
        return AhoCorasick(literals, matchkind=kind, implementation=implementation).find_matches_as_indexes
    # Places in a str cost a table as long as the text. In one byte per character, "?" for all that has none, they are the same.
    automaton = BytesAhoCorasick([literal.encode() for literal in literals], matchkind=kind, implementation=implementation)
    return lambda text: automaton.find_matches_as_indexes(text.encode("latin-1", "replace"))
