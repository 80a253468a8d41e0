"""The quick way to numbers and mail addresses finds what the patterns alone find, whatever the text."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.detectors.account_numbers import (
    _find_international_phones,  # pyright: ignore[reportPrivateUsage]
    _find_phones,  # pyright: ignore[reportPrivateUsage]
)
from gristmill.guard.mask.detectors.digit_runs import RUN, encode_characters, find_iban_starts, find_places, find_runs
from gristmill.guard.mask.detectors.emails import build_email_finder

PIECES = st.sampled_from(
    "0 12 4111 1111 2026-01-02 078-05-1120 0171-1234567 +49 (555) DE AB xy_ é \u2013 \u00a0 \u202f ? ?? \n \0 . - / 00 ABC 78 % @ a.b example.com %40 ' git : // //bob@".split(" ")
)  # fmt: skip
TEXTS = st.one_of(st.lists(PIECES, max_size=40).map("".join), st.lists(PIECES, max_size=30).map(" ".join), st.text(max_size=60))


@given(TEXTS)
@example("2026-01-02 4111 1111 1111 1111")
@example("4111\u20131111\u20131111\u20131111")
@example("ɐ4111 1111 1111?1111+49 30 1234567")
@example("x12345678\n_87654321\n12345678")
def test_runs_of_digits_are_those_that_the_pattern_finds(text: str) -> None:
    plain, others = find_runs(text, find_places(encode_characters(text)))
    assert sorted(plain + others) == [match.span() for match in RUN.finditer(text)]
    assert (
        {text[start:end].isdigit() for start, end in plain} | {True},
        [run for run in others if text[slice(*run)].isdigit()],
    ) == ({True}, [])


@given(TEXTS)
@example("DE12 AB34_CD56 éDE12")
def test_countries_are_two_letters_that_begin_a_word_and_two_digits(text: str) -> None:
    pattern = re.compile(r"(?<![0-9A-Za-z_])[A-Za-z]{2}(?=[0-9]{2})")
    assert find_iban_starts(encode_characters(text)) == [match.start() for match in pattern.finditer(text)]


@given(
    st.lists(
        st.sampled_from(
            [
                "+49",
                "+1",
                "+",
                " 30",
                "0",
                "5",
                "12",
                "555",
                "-",
                " ",
                "(",
                ")",
                "2026-01",
                "901820",
                "x",
                "01.23.45.67.89",
                "/",
                "(555) 234-5678",
                "00",
            ]
        ),
        max_size=14,
    ).map("".join)
)
@example("+49 30 901820 0301234567")
@example("+1 555 234 5678 2026-01-02")
def test_numbers_from_abroad_are_those_that_the_pattern_for_all_numbers_finds(text: str) -> None:
    for start, end in find_runs(text, find_places(encode_characters(text)))[1]:
        if text[start] == "+":
            assert _find_international_phones(text, [(start, end)]) == list(_find_phones(text, start, end))


LOCAL = r"[0-9A-Za-z\u00c0-\u024f\u0370-\u052f_.+%'-]"


def plain_addresses(text: str) -> list[tuple[int, int]]:
    """The same rules step by step, without a look at speed."""
    domain = (
        r"(?:@|%40)(?:[0-9A-Za-z\u00c0-\u024f\u0370-\u052f][0-9A-Za-z\u00c0-\u024f\u0370-\u052f-]{0,62}\.){1,8}"
        r"(?:xn--[0-9A-Za-z-]{2,59}|[A-Za-z\u00c0-\u024f\u0370-\u052f]{2,24})(?![0-9A-Za-z\u00c0-\u024f\u0370-\u052f_])"
    )
    found: list[tuple[int, int]] = []
    for at in re.finditer(domain, text):
        start = at.start()
        while start and at.start() - start < 64 and re.match(LOCAL, text[start - 1]):
            start -= 1
        while start < at.start() and text[start] in ".'%-":
            start += 1
        name, after = text[start : at.start()], text[at.end() : at.end() + 1]
        if name and text[max(0, start - 2) : start] != "//" and not (name == "git" and after and after in ":/"):
            found.append((start, at.end()))
    return found


@given(TEXTS)
@example("git@example.com:path git@example.com //bob@example.com 'ann'@example.com")
@example("x" * 70 + "@example.com")
@example("ąęov@example.com")
@example("ann%40example.com ann@example.xn--aa-")
def test_mail_addresses_are_those_that_are_read_step_by_step(text: str) -> None:
    if "://" not in text:
        assert sorted(build_email_finder(frozenset({"email"}))(text)) == [(*span, "EMAIL") for span in plain_addresses(text)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ref AB12 4111 1111 1111 1111 x", "CARD"),
        ("ref AB12 DE89 3704 0044 0532 0130 00 x", "IBAN"),
    ],
)
def test_what_begins_like_an_iban_hides_nothing_behind_it(text: str, kind: str) -> None:
    assert [span[2] for span in Detector().find(text)] == [kind]


def test_a_bracket_in_the_place_of_a_check_digit_is_no_obstacle() -> None:
    assert Detector().find("DE(8370400440532013000 ") == []
