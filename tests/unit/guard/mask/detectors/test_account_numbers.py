"""Telephone numbers as people write them in all countries; phonenumbers, which is made for them, says how."""

import phonenumbers
import pytest
from phonenumbers import PhoneNumberFormat, PhoneNumberType

from gristmill.guard.mask.detector import Detector

DETECTOR = Detector()
SHORTEST = 8
"""Shorter numbers have no more digits than ids and amounts."""
TYPES = (
    PhoneNumberType.FIXED_LINE,
    PhoneNumberType.MOBILE,
    PhoneNumberType.TOLL_FREE,
    PhoneNumberType.PREMIUM_RATE,
    PhoneNumberType.VOIP,
    PhoneNumberType.PERSONAL_NUMBER,
    PhoneNumberType.UAN,
)


def write_examples(region: str) -> list[str]:
    """The example numbers of a region, each without and with separators."""
    numbers = [found for kind in TYPES if (found := phonenumbers.example_number_for_type(region, kind))]
    forms = (PhoneNumberFormat.E164, PhoneNumberFormat.INTERNATIONAL)
    written = [phonenumbers.format_number(number, form) for number in numbers for form in forms]
    return [text for text in written if sum(map(str.isdigit, text)) > SHORTEST]


@pytest.mark.parametrize(
    "around", ["{}", "call {} now", '"{}"', "{}, 2026-01-02", "{} 2026-01-02", "2026-01-02 {}", "{} 2026-01"]
)
def test_the_numbers_of_all_countries_are_found_exactly(around: str) -> None:
    examples = [text for region in sorted(phonenumbers.SUPPORTED_REGIONS) for text in write_examples(region)]
    assert len(examples) > 1_000
    wrong: dict[str, list[str]] = {}
    for text in examples:
        written = around.format(text)
        found = [written[start:end] for start, end, kind in DETECTOR.find(written) if kind == "PHONE"]
        if found != [text]:
            wrong[text] = found
    assert wrong == {}
