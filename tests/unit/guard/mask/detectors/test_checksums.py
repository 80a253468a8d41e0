"""Check digits, of one number and of many at once."""

from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.guard.mask.detectors.checksums import cards_among, is_card

DIGITS = st.text("0123456789", min_size=1, max_size=20)
BEGUN = st.tuples(st.sampled_from(["4", "37", "6759", "6011", "30", "2221"]), DIGITS).map("".join)


@given(
    st.lists(
        st.one_of(DIGITS, BEGUN, st.sampled_from(["4111111111111111", "378282246310005", "6011111111111117", "6304000000000000"]))
    )
)
@example(["9" * 19, "6200000000000000003", "4999999999999999991", "4" * 16, "4111111111111112"])
def test_cards_among_many_numbers_are_those_that_are_cards_each(numbers: list[str]) -> None:
    assert sorted(cards_among(numbers)) == sorted(number for number in numbers if is_card(number))
