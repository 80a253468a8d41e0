"""Any value becomes JSON within its limit, whatever it is made of."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gristmill.guest.json_values import encode_value

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.decimals() | st.uuids()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner) | st.tuples(inner, inner)
    ),
    max_leaves=30,
)


@given(VALUES)
def test_every_value_becomes_strict_json(value: object) -> None:
    text, whole = encode_value(value, 1_000_000)
    json.loads(text.encode("utf-8", "replace"), parse_constant=lambda name: 1 / 0)
    assert whole


@given(st.text(min_size=200))
def test_what_is_too_large_is_named_instead(value: str) -> None:
    text, whole = encode_value(value, 100)
    assert not whole
    assert "bytes as JSON, more than the 100" in json.loads(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(alphabet=st.characters(codec="utf-8")),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet=st.characters(codec="utf-8")), inner),
    )
)
def test_json_values_come_through_unchanged(value: object) -> None:
    assert json.loads(encode_value(value, 10_000_000)[0]) == value
