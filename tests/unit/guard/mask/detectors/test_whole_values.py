"""Strings that are one finding and nothing else are found as the searches inside of texts find them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.mask.text.text_spans import SEPARATOR

DETECTOR = Detector()
OTHERS = [f"word {number}" for number in range(20)]
"""So many that a pass of its own is worth the while."""


def whole(text: str, detector: Detector = DETECTOR) -> list[str]:
    """The kinds of which ``text``, among others, is nothing but one."""
    texts = [*OTHERS[:10], text, *OTHERS[10:]]
    return [kind for kind, some in detector.find_whole(texts, SEPARATOR.join(texts)).items() if text in some]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("ann.smith+news@mail.example.co.uk", "EMAIL"), ("+49 (0)30 90 18 20", "PHONE"), ("+1-555-223-4567", "PHONE"), ("4111111111111111", "CARD")],
)  # fmt: skip
def test_a_plain_value_is_seen_as_a_whole(text: str, kind: str) -> None:
    assert whole(text) == [kind]


PARTS = st.sampled_from(
    [
        "ann", "@", "example.com", "b.io", "x.PNG", "2x.png", "a" * 64, "+49", "+1", " 30 ", "901820", "555", "2345678", "-", ".", "(", ")", "/",
        "2026-01-02", "+202-01-02", "4111111111111111", "411111111111111", "6759649826438453", "1" * 16, "é", "%40", "git@", ":", "//", "'", "\n", "\0", "",
    ]
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(PARTS, max_size=6).map("".join))
@example("git@github.com:org")
@example("+1 555 234 5678 9")
@example("+49 30 901820 ")
@example("+202-01-02 123456")
@example("a@icon.com.png")
@example("+49" + " 3" * 14)
def test_what_is_seen_as_a_whole_is_what_is_found_in_it(text: str) -> None:
    for kind in whole(text):
        assert DETECTOR.find(text) == [(0, len(text), kind)]


def test_what_a_string_with_a_gap_in_it_only_seems_to_be_is_not_seen() -> None:
    texts = [*OTHERS, f"x{SEPARATOR}ann@example.com{SEPARATOR}y"]
    assert DETECTOR.find_whole(texts, SEPARATOR.join(texts)) == {}


def test_a_kind_that_is_off_is_not_seen() -> None:
    assert whole("ann@example.com", Detector(DetectionTargets(kinds=frozenset({"card"})))) == []


def test_what_is_allowed_and_the_gateways_own_are_left_to_the_search_inside() -> None:
    assert whole("ann@example.com", Detector(DetectionTargets(allow=("*@example.com",)))) == []
    assert whole("ann@example.com", Detector(DetectionTargets(literals=frozenset({"ann@example"})))) == []
