import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.visible_text import clean_text, clean_to_one_line, find_hidden_runs

HIDDEN = [
    "\x00",
    "\x1b",
    "\x7f",
    "\xad",
    "\u200b",
    "\u200d",
    "\u202e",
    "\u2066",
    "\ufeff",
    "\ufe0f",
    "\ud800",
    "\U000e0041",
    "\U000e0100",
    "\ue000",
    "\u3164",
]


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_what_cannot_be_seen_is_found_and_removed(hidden: str) -> None:
    text = f"plain{hidden}text"
    assert clean_text(text) == clean_to_one_line(text) == "plaintext"
    assert len(find_hidden_runs(text)) == 1
    assert find_hidden_runs(text)[0].isascii()


def test_ordinary_text_of_any_script_is_left_alone() -> None:
    text = "Größe: 5 €\n\t\u0441\u043f\u0438\u0441\u043e\u043a 列表 عربى 😀"
    assert clean_text(text) == text
    assert find_hidden_runs(text + "\r\n\u2028") == ()


def test_text_is_cut_at_its_limit() -> None:
    assert clean_text("x" * 10_000_000, limit=10) == "x" * 9 + "…"
    assert clean_to_one_line("a\n b\t\tc") == "a b c"


@given(st.text())
def test_cleaning_leaves_nothing_hidden(text: str) -> None:
    assert find_hidden_runs(clean_text(text)) == ()
    assert "\n" not in clean_to_one_line(text)
