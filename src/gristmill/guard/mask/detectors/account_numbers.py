"""Numbers that name a person or an account: cards, IBANs, US social security numbers, telephone numbers.

One cheap pass (``find_runs``) finds runs of digits that stand alone; only those are looked at closely. Every pattern has a
bounded length, so that the time is linear in the text whoever wrote it.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import compress

from gristmill.guard.find_plain import Sorted, place_sorter
from gristmill.guard.mask.detectors.checksums import cards_among, iban_length, is_card, passes_mod_97
from gristmill.guard.mask.detectors.digit_runs import GLUE, Spans, classed, find_countries, find_places, find_runs
from gristmill.guard.mask.text_spans import Found, Span

_NOT_IN_WORD = r"(?<![0-9A-Za-z_.\-])"
_WORD_ENDS = r"(?![0-9A-Za-z_])(?![.\-/:,][0-9])"

_CARD = re.compile(
    rf"{_NOT_IN_WORD}(?:(?:[0-9]{{4}}[ -]){{3}}[0-9]{{4}}(?:[ -][0-9]{{3}})?"
    r"|[0-9]{4}[ -][0-9]{6}[ -][0-9]{4,5}|[0-9]{12,19})"
    r"(?![0-9A-Za-z_])(?![.\-][0-9])"
)
_JOINS, _GOES_ON = frozenset(".-"), frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
_SSN = re.compile(rf"{_NOT_IN_WORD}(?!000|666|9)[0-9]{{3}}-(?!00)[0-9]{{2}}-(?!0000)[0-9]{{4}}{_WORD_ENDS}")

ABROAD = rf"""
    \+1[{GLUE}]{{0,2}}[2-9][0-9]{{2}}[{GLUE}]{{0,2}}[0-9]{{3}}[{GLUE}]{{0,2}}[0-9]{{4}}{_WORD_ENDS}
   |\+(?!1[{GLUE}]{{0,2}}[2-9])[1-9](?:[0-9]|(?![ ][0-9]{{4}}-[0-9]{{2}})[{GLUE}]{{1,3}}[0-9]){{7,14}}{_WORD_ENDS}
    """
_PHONE = re.compile(
    rf"""
    (?:{ABROAD}
      |(?<![0-9A-Za-z_.\-/+])(?<![0-9][ ])
       (?:(?:1[ .-]?)?\([2-9][0-9]{{2}}\)[ .-]{{0,2}}[2-9][0-9]{{2}}[ .-][0-9]{{4}}
         |(?:1[ .-])?[2-9][0-9]{{2}}(?P<glue>[ .-])[2-9][0-9]{{2}}(?P=glue)[0-9]{{4}}
         |00[1-9][0-9]{{0,3}}[ /-][0-9](?:[{GLUE}]{{0,2}}[0-9]){{5,12}}
         |0[1-9](?:\.[0-9]{{2}}){{4}}
         |(?:\(0[1-9][0-9]{{0,4}}\)|0[1-9][0-9]{{0,4}})(?:(?![ ]?/[ ]?0[1-9])[ /-]{{1,3}}[0-9]{{2,8}}){{1,5}}
       )(?![ ][0-9]){_WORD_ENDS})
    """,
    re.VERBOSE,
)
"""In turn: North America with +1, all the world with +, North America, 00 for +, France with dots, national numbers with a 0."""

_PHONE_ABROAD = re.compile(ABROAD, re.VERBOSE)
_DATE = re.compile(
    r"\(?(?:[0-9]{1,2}[-/. ][0-9]{1,2}[-/. ](?:19|20)[0-9]{2}|(?:19|20)[0-9]{2}[-/. ][0-9]{1,2}[-/. ][0-9]{1,2})(?![0-9])"
)
_PAIRS = re.compile(r"[0-9]{2}(?: [0-9]{2})+")
_HEX_BEFORE = re.compile(r"(?:^|[^0-9A-Za-z])[0-9a-fA-F]{2} $")
_HEX_AFTER = re.compile(r" [0-9a-fA-F]{2}\b")
_SHORTEST_PHONE, _LONGEST_PHONE = 8, 24
_MANY = 8
"""Places from which on it pays to tell them apart first."""
_NOT_DIGITS = re.compile(r"[^0-9]+")


def digits_of(text: str) -> str:
    """Only its digits."""
    return _NOT_DIGITS.sub("", text)


def number_finder(kinds: frozenset[str]) -> Callable[[str], Found]:
    """A search for those of ``card``, ``iban``, ``ssn`` and ``phone`` that are among ``kinds``."""
    wanted = [close for kind, close in _CLOSE.items() if kind in kinds]

    def find(text: str) -> Found:
        characters = classed(text)
        found = _ibans(text, find_countries(characters)) if "iban" in kinds else []
        places = find_places(characters)
        if not places:
            return found  # so it is with most texts
        bare, phones, rest = _sorter()(text, places) if len(places) >= _MANY else ([], [], places)
        plain, others = find_runs(text, rest) if rest else ([], [])
        is_abroad = [text[start] == "+" and end - start <= _LONGEST_PHONE for start, end in others]
        if "phone" in kinds:
            found += [(start, end, "PHONE") for start, end in phones]
            found += _abroad(text, list(compress(others, is_abroad)))
        for (start, end), skip in zip(others, is_abroad, strict=True):
            if not skip:
                for close in wanted:
                    found += close(text, start, end)
        if "card" in kinds:
            bare += [place for place in plain if _stands_alone(text, *place)]
            numbers = [text[start:end] for start, end in bare]
            cards = set(cards_among(numbers))
            found += [(start, end, "CARD") for (start, end), number in zip(bare, numbers, strict=True) if number in cards]
        return found

    return find


@cache  # a start does not need it
def _sorter() -> Callable[[str, Spans], Sorted]:
    return place_sorter(ABROAD, _LONGEST_PHONE)


def _ibans(text: str, starts: Iterable[int]) -> Found:
    found: Found = []
    read_to = 0
    for start in starts:
        length = iban_length(text[start : start + 2].upper())
        # The country says where the number ends.
        if not length or start < read_to or not (match := _of_length(length).match(text, start)):
            continue
        if passes_mod_97(match[0]):
            read_to = match.end()
            found.append((start, read_to, "IBAN"))
    return found


@cache
def _of_length(length: int) -> re.Pattern[str]:
    """So many letters and digits, and spaces or hyphens anywhere between them."""
    return re.compile(rf"[A-Za-z](?:[ -]?[0-9A-Za-z]){{{length - 1}}}+(?![^\W_])")


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether a run of nothing but digits is all that ``_CARD`` would see there."""
    return text[start - 1 : start] not in _JOINS and text[end : end + 1] not in _GOES_ON


def _cards(text: str, start: int, end: int) -> Iterable[Span]:
    for match in _CARD.finditer(text, start, end + 2):
        # After sixteen digits in fours, three more may belong to the number or be the code on the back of the card.
        for length in (len(match[0]), 19):
            if length <= len(match[0]) and is_card(digits_of(match[0][:length])):
                yield match.start(), match.start() + length, "CARD"
                break


def _ssns(text: str, start: int, end: int) -> Iterable[Span]:
    for match in _SSN.finditer(text, start, end + 2):
        yield match.start(), match.end(), "SSN"


def _phones(text: str, start: int, end: int) -> Iterable[Span]:
    return [
        (*match.span(), "PHONE")
        for match in _PHONE.finditer(text, start, end + 3)
        if text[match.start()] == "+" or match["glue"] or _is_national(text, match)
    ]


def _abroad(text: str, runs: list[tuple[int, int]]) -> Found:
    """The same for runs that begin with a ``+``: those can be nothing else, and mostly are one number and all of it."""
    found: Found = []
    number_at = _PHONE_ABROAD.match
    for (start, end), match in zip(runs, [number_at(text, start, end + 3) for start, end in runs], strict=True):
        if match is not None and end - match.end() < _SHORTEST_PHONE - 3:
            found.append((start, match.end(), "PHONE"))
        else:
            found += _phones(text, start, end)
    return found


def _is_national(text: str, match: re.Match[str]) -> bool:
    count = len(digits_of(match[0]))
    if not 9 <= count <= (12 if not match[0].startswith("00") else 16) or _DATE.match(match[0]):
        return False
    # "01 23 45 67 89" is a French number, and a piece of every hex dump.
    if not _PAIRS.fullmatch(match[0]):
        return True
    before = text[max(0, match.start() - 4) : match.start()]
    return not (_HEX_BEFORE.search(before) or _HEX_AFTER.match(text, match.end()))


_CLOSE = {"card": _cards, "ssn": _ssns, "phone": _phones}
