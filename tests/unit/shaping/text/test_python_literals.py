"""What Python prints of plain values is read back as the same values, without evaluating it."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.shaping.text.python_literals import MAX_CHARACTERS, spell_as_json

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@settings(max_examples=60, deadline=None)
@given(value=values)
def test_a_printed_value_is_the_same_value(value: Any) -> None:
    printed = [value, "it's"]
    assert json.loads(spell_as_json(str(printed)) or "") == printed


def test_tuples_are_lists() -> None:
    assert json.loads(spell_as_json("[('a', 1), ('b',), ()]") or "") == [["a", 1], ["b"], []]


@pytest.mark.parametrize("line", ["'text'", "[1, 2]", "['" + "x" * MAX_CHARACTERS, "print('x')"])
def test_what_is_no_container_or_too_long_is_left_alone(line: str) -> None:
    assert spell_as_json(line) is None


def test_quotes_that_never_close_take_linear_time() -> None:
    text = spell_as_json("['" + "\\'" * 300_000) or ""
    with pytest.raises(ValueError, match=r"delimiter|Unterminated"):
        json.loads(text)
