"""Check digits; python-stdnum, which is made for them, says what is right."""

import re
from itertools import product
from string import ascii_uppercase

from hypothesis import example, given
from hypothesis import strategies as st
from stdnum import luhn, numdb
from stdnum.iso7064 import mod_97_10

from gristmill.guard.mask.detectors.checksums import get_iban_length, passes_luhn, passes_mod_97

DIGITS = st.text("0123456789", min_size=1, max_size=20)


@given(DIGITS)
@example("4111111111111111")
@example("4111111111111112")
def test_the_check_digit_of_a_card_is_that_of_the_library(digits: str) -> None:
    assert passes_luhn(digits) == luhn.is_valid(digits)
    completed = digits + luhn.calc_check_digit(digits)
    assert passes_luhn(completed)


@given(
    st.sampled_from(["DE", "GB", "MT"]),
    st.text("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", min_size=11, max_size=30),
    st.text("0123456789", min_size=2, max_size=2),
)
def test_the_check_digits_of_an_iban_are_those_of_the_library(country: str, account: str, digits: str) -> None:
    right = country + mod_97_10.calc_check_digits(account + country) + account
    assert (passes_mod_97(right), passes_mod_97(right.lower())) == (True, True)
    assert passes_mod_97(country + digits + account) == mod_97_10.is_valid(account + country + digits)


def test_ibans_have_the_lengths_that_the_library_knows_in_all_countries() -> None:
    registry = numdb.get("iban")
    known: dict[str, int] = {}
    for country in map("".join, product(ascii_uppercase, repeat=2)):
        form = registry.info(country)[0][1].get("bban", "")  # as in "8!n10!n": eight digits, then ten digits
        known[country] = sum(map(int, re.findall("[0-9]+", form)), 4) if form else 0
    assert len([length for length in known.values() if length]) > 80
    assert {country: get_iban_length(country) for country in known} == known
