"""Tokens are counted as the models of today count them."""

import sys

import pytest

from gristmill.shaping.token_counter import load_token_counter


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the counter has no wheel for this Python; the caller estimates")
def test_the_counter_knows_o200k() -> None:
    count = load_token_counter()
    assert count is not None
    assert [count(text) for text in ("", "hello world", "antidisestablishmentarianism", "\ud800")] == [0, 2, 6, 1]
    assert load_token_counter() is count
