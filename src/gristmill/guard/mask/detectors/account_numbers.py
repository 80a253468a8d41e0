"""Finds numbers that identify a person or an account: cards, IBANs, US social security numbers, telephone numbers.

One cheap pass (``find_runs``) finds runs of digits that stand alone; only those are examined closely. Every pattern has a
bounded length, so that the time is linear in the length of any text.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import compress

from gristmill.guard.mask.detectors.checksums import get_iban_length, is_card, passes_mod_97
from gristmill.guard.mask.detectors.digit_runs import (
    DIGIT_SEPARATORS,
    encode_characters,
    find_iban_starts,
    find_places,
    find_runs,
)
from gristmill.guard.mask.text.text_spans import Found, Span

_NOT_IN_WORD = r"(?<![0-9A-Za-z_.\-])"
_WORD_ENDS = r"(?![0-9A-Za-z_])(?![.\-/:,][0-9])"

_CARD = re.compile(
    rf"{_NOT_IN_WORD}(?:(?:[0-9]{{4}}[ -]){{3}}[0-9]{{4}}(?:[ -][0-9]{{3}})?"
    r"|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5}|[0-9]{12,19})"
    r"(?![0-9A-Za-z_])(?!-[0-9]|\.(?!0{1,4}(?!\.?[0-9]))[0-9])"
)
"""A number may end in ``.0``, as the text of a float does."""

_JOINING_CHARACTERS, _WORD_CHARACTERS = frozenset(".-"), frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_SSN = re.compile(rf"{_NOT_IN_WORD}(?!000|666|9)[0-9]{{3}}-(?!00)[0-9]{{2}}-(?!0000)[0-9]{{4}}{_WORD_ENDS}")

_NO_DATE_NEXT = "(?![ ](?:19|20)[0-9]{2}-[0-9]{2}(?![0-9]))"
"""A look-ahead that ends a number before a date; Argentina, Brazil and Honduras write ``+504 2212-3456``."""

INTERNATIONAL_PHONE_PATTERN = rf"""
    \+1[{DIGIT_SEPARATORS}]{{0,2}}[2-9][0-9]{{2}}[{DIGIT_SEPARATORS}]{{0,2}}[0-9]{{3}}[{DIGIT_SEPARATORS}]{{0,2}}[0-9]{{4}}{_WORD_ENDS}
   |\+(?!1[{DIGIT_SEPARATORS}]{{0,2}}[2-9])[1-9](?:[0-9]|{_NO_DATE_NEXT}[{DIGIT_SEPARATORS}]{{1,3}}[0-9]){{7,14}}
    {_WORD_ENDS}
    """
_PHONE = re.compile(
    rf"""
    (?:{INTERNATIONAL_PHONE_PATTERN}
      |(?<![0-9A-Za-z_.\-/+])(?<![0-9][ ])
       (?:(?:1[ .-]?)?\([2-9][0-9]{{2}}\)[ .-]{{0,2}}[2-9][0-9]{{2}}[ .-][0-9]{{4}}
         |(?:1[ .-])?[2-9][0-9]{{2}}(?P<glue>[ .-])[2-9][0-9]{{2}}(?P=glue)[0-9]{{4}}
         |00[1-9][0-9]{{0,3}}[ /-][0-9](?:[{DIGIT_SEPARATORS}]{{0,2}}[0-9]){{5,12}}
         |0[1-9](?:\.[0-9]{{2}}){{4}}
         |(?:\(0[1-9][0-9]{{0,4}}\)|0[1-9][0-9]{{0,4}})(?:(?![ ]?/[ ]?0[1-9])[ /-]{{1,3}}[0-9]{{2,8}}){{1,5}}
       )(?![ ][0-9]){_WORD_ENDS})
    """,
    re.VERBOSE,
)
"""In order: North America with +1, all countries with +, North America, 00 for +, France with dots, national numbers with 0."""

_INTERNATIONAL_PHONE = re.compile(INTERNATIONAL_PHONE_PATTERN, re.VERBOSE)
_DATE = re.compile(
    r"\(?(?:[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ](?:19|20)[0-9]{2}|(?:19|20)[0-9]{2}[-/. ][0-9]{1,2}[-/. ][0-9]{1,2})(?![0-9])"
)
_PAIRS = re.compile(r"[0-9]{2}(?: [0-9]{2})+")
_HEX_BEFORE = re.compile(r"(?:^|[^0-9A-Za-z])[0-9a-fA-F]{2} $")
_HEX_AFTER = re.compile(r" [0-9a-fA-F]{2}\b")
_SHORTEST_PHONE, _LONGEST_PHONE = 8, 24
_NOT_DIGITS = re.compile(r"[^0-9]+")


def extract_digits(text: str) -> str:
    """Returns only the digits of ``text``."""
    return _NOT_DIGITS.sub("", text)


def build_number_finder(kinds: frozenset[str]) -> Callable[[str], Found]:
    """Builds a search for ``card``, ``iban``, ``ssn`` and ``phone``, as far as they are in ``kinds``."""
    finders = [finder for kind, finder in _FINDERS.items() if kind in kinds]

    def find(text: str) -> Found:
        characters = encode_characters(text)
        found = _find_ibans(text, find_iban_starts(characters)) if "iban" in kinds else []
        places = find_places(characters)
        if not places:
            return found  # true for most texts
        plain, others = find_runs(text, places)
        is_international = [text[start] == "+" and end - start <= _LONGEST_PHONE for start, end in others]
        if "phone" in kinds:
            found += _find_international_phones(text, list(compress(others, is_international)))
        for (start, end), skip in zip(others, is_international, strict=True):
            if not skip:
                for find_in_run in finders:
                    found += find_in_run(text, start, end)
        if "card" in kinds:
            found += [(*run, "CARD") for run in plain if is_card(text[slice(*run)]) and _stands_alone(text, *run)]
        return found

    return find


def _find_ibans(text: str, starts: Iterable[int]) -> Found:
    found: Found = []
    read_to = 0
    for start in starts:
        length = get_iban_length(text[start : start + 2].upper())
        # The country determines the length of the number.
        if not length or start < read_to or not (match := _compile_iban_pattern(length).match(text, start)):
            continue
        if passes_mod_97(match[0]):
            read_to = match.end()
            found.append((start, read_to, "IBAN"))
    return found


@cache
def _compile_iban_pattern(length: int) -> re.Pattern[str]:
    """Compiles a pattern for that many letters and digits, with spaces or hyphens anywhere between them."""
    return re.compile(rf"[A-Za-z](?:[ -]?[0-9A-Za-z]){{{length - 1}}}+(?![^\W_])")


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Tells whether ``_CARD`` would match exactly this run, which consists of digits only."""
    return text[start - 1 : start] not in _JOINING_CHARACTERS and text[end : end + 1] not in _WORD_CHARACTERS


def _find_cards(text: str, start: int, end: int) -> Iterable[Span]:
    for match in _CARD.finditer(text, start, end + 2):
        # After sixteen digits in groups of four, three more may belong to the number or be the code on the back of the card.
        for length in (len(match[0]), 19):
            if length <= len(match[0]) and is_card(extract_digits(match[0][:length])):
                yield match.start(), match.start() + length, "CARD"
                break


def _find_ssns(text: str, start: int, end: int) -> Iterable[Span]:
    for match in _SSN.finditer(text, start, end + 2):
        yield match.start(), match.end(), "SSN"


def _find_phones(text: str, start: int, end: int) -> Iterable[Span]:
    return [
        (*match.span(), "PHONE")
        for match in _PHONE.finditer(text, start, end + 3)
        if text[match.start()] == "+" or match["glue"] or _is_national(text, match)
    ]


def _find_international_phones(text: str, runs: list[tuple[int, int]]) -> Found:
    """Finds telephone numbers in runs that begin with ``+``. They can be no other kind, and most are exactly one number."""
    found: Found = []
    number_at = _INTERNATIONAL_PHONE.match
    for (start, end), match in zip(runs, [number_at(text, start, end + 3) for start, end in runs], strict=True):
        if match is not None and end - match.end() < _SHORTEST_PHONE - 3:
            found.append((start, match.end(), "PHONE"))
        else:
            found += _find_phones(text, start, end)
    return found


def _is_national(text: str, match: re.Match[str]) -> bool:
    count = len(extract_digits(match[0]))
    if not 9 <= count <= (12 if not match[0].startswith("00") else 16) or _DATE.match(match[0]):
        return False
    # "01 23 45 67 89" may be a French number or a part of a hex dump.
    if not _PAIRS.fullmatch(match[0]):
        return True
    before = text[max(0, match.start() - 4) : match.start()]
    return not (_HEX_BEFORE.search(before) or _HEX_AFTER.match(text, match.end()))


_FINDERS = {"card": _find_cards, "ssn": _find_ssns, "phone": _find_phones}
