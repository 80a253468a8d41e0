"""Nothing from outside steers the terminal."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from gristmill.serve.cli.terminal.safe_output import neutralize_text


def test_controls_are_shown_not_obeyed() -> None:
    assert neutralize_text("a\x1b[2J\u202e\ue000\tb\n") == "a\\x1b[2J\\u202e\\ue000\tb\n"


@given(st.text())
def test_no_control_character_passes(text: str) -> None:
    categories = {unicodedata.category(char) for char in neutralize_text(text) if char not in "\n\t"}
    assert not categories & {"Cc", "Cf", "Co", "Cs"}
