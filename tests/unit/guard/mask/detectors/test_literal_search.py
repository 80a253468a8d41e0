"""Fixed texts are found where they stand, whatever stands around them."""

from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.guard.mask.detectors.literal_search import build_literal_search

PARTS = st.sampled_from(["Ann", "Anna", "Jos\u00e9", "sk-", "?", "\u6f22", "\U0001f600", "\u00e9", " ", "A", "n"])


@given(st.lists(PARTS, max_size=20).map("".join), st.sampled_from([("Ann", "Anna", "sk-"), ("Ann", "Jos\u00e9"), ("A?n", "Ann")]))
@example("\u6f22Anna", ("Ann", "Anna"))
@example("A\u6f22n A?n", ("A?n",))
def test_what_is_found_is_what_stands_there(text: str, literals: tuple[str, ...]) -> None:
    found = build_literal_search(literals)(text)
    assert [text[start:end] for _, start, end in found] == [literals[which] for which, _, _ in found]
    assert bool(found) == any(literal in text for literal in literals)


def test_the_longest_that_begins_there_is_found() -> None:
    assert build_literal_search(("Ann", "Anna"))("\u6f22 Anna") == [(1, 2, 6)]
