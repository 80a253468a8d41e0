"""A value becomes another kind only where one reading of it is possible."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.fitting_values import LONGEST_TEXT, NoFit, convert_to_kind

FITTING = [
    ("7", "integer", 7), (" -7 ", "integer", -7), ("7.0", "integer", 7), ("0", "integer", 0),
    ("7", "number", 7), ("7.50", "number", 7.5), ("-1e3", "number", -1000.0),
    ("true", "boolean", True), ("False", "boolean", False),
    ("a b", "array", ["a b"]), (5, "array", [5]), ({"a": 1}, "array", [{"a": 1}]), (False, "array", [False]),
    ('["a", 1]', "array", ["a", 1]), (' {"a": {"b": 1}}', "object", {"a": {"b": 1}}),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind", "fitting"), FITTING)
def test_a_value_with_one_reading_is_converted(value: Any, kind: str, fitting: Any) -> None:
    found = convert_to_kind(value, kind)
    assert (found, type(found)) == (fitting, type(fitting))


DOUBTFUL = [
    ("007", "integer"), ("7.5", "integer"), ("seven", "integer"), ("", "integer"), ("1_000", "integer"), ("1,000", "number"),
    ("9" * 30, "integer"), ("nan", "number"), ("Infinity", "number"), ("1e999", "number"), ("\u0667", "integer"), ("0x7", "integer"),
    ("yes", "boolean"), ("1", "boolean"), (1, "boolean"), (True, "integer"), (7.5, "integer"),
    ("a,b", "array"), ("a\nb", "array"), ("", "array"), (None, "array"), ("[1", "array"), ('{"a": 1', "object"), ("[1]", "object"),
    ("a", "object"), ([["a", 1]], "object"), (5, "string"), (None, "string"), ("null", "null"), ("7", "unknown"),
    ("[" * 200 + "]" * 200, "array"), ("[" + "1," * LONGEST_TEXT + "1]", "array"), ("[" + "9" * 40 + "]", "array"),
    ('["\ud800"]', "array"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind"), DOUBTFUL, ids=lambda value: str(value)[:20].encode("ascii", "replace").decode())
def test_a_value_with_no_reading_or_several_is_not(value: Any, kind: str) -> None:
    with pytest.raises(NoFit):
        convert_to_kind(value, kind)


@given(st.integers(-(10**17), 10**17))
def test_every_integer_comes_back_from_its_text(number: int) -> None:
    assert convert_to_kind(str(number), "integer") == number
