"""A sealed record names its format, and no record is taken for one of another format."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.errors import StoreUnavailable
from gristmill.ledger.record_formats import UNMARKED_FORMAT, mark_format, split_format


@given(st.integers(2, 255), st.binary())
def test_a_marked_record_is_read_back_with_its_format(number: int, content: bytes) -> None:
    assert split_format(mark_format(number, content), newest=255, what="it") == (number, content)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text()), st.dictionaries(st.text(), st.text())))
def test_json_without_a_mark_is_a_record_of_the_first_release(value: object) -> None:
    text = json.dumps(value).encode()
    assert split_format(text, newest=2, what="it") == (UNMARKED_FORMAT, text)


@pytest.mark.parametrize("record", [b"\0", b"\0\0{}", b"\0\1{}", mark_format(3, b"{}"), mark_format(255, b"")])
def test_a_format_that_is_not_known_is_refused_and_named(record: bytes) -> None:
    with pytest.raises(StoreUnavailable, match=r"the plan has the format \d+, .* up to 2: use the version that wrote it"):
        split_format(record, newest=2, what="the plan")
