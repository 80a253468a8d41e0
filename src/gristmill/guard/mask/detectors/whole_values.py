"""Finds strings that are exactly one mail address, one telephone number with a ``+`` or one card number.

In rows of a table most findings are the whole value of a field. One pass over all strings finds these, and they need none of
the work for findings inside texts: where they begin and end, what overlaps them, what is beside them. It finds only values that
the other searches in this folder would find, too; they find all less simple ones.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache

from gristmill.guard.mask.detectors.account_numbers import INTERNATIONAL_PHONE_PATTERN
from gristmill.guard.mask.detectors.checksums import is_card
from gristmill.guard.mask.detectors.digit_runs import NO_DATE
from gristmill.guard.mask.detectors.emails import FILE_ENDINGS
from gristmill.guard.mask.text.text_spans import GAP, SEPARATOR

_NOT_A_FILE = rf"(?!(?:{'|'.join(sorted(FILE_ENDINGS))})\n)"
_EMAIL = r"[0-9A-Za-z_+][0-9A-Za-z_.+-]{0,63}+@(?:[0-9A-Za-z][0-9A-Za-z-]{0,62}+\.){1,8}" + _NOT_A_FILE + r"[a-z]{2,24}+"
_PHONE = rf"(?=\+{NO_DATE})(?:{INTERNATIONAL_PHONE_PATTERN})"
_LEAST_STRINGS = 16
"""The number of strings from which this extra pass saves time."""


@cache  # not compiled at start, which does not need them
def _compile_whole_pattern(pattern: str) -> re.Pattern[str]:
    # Begins with the separator between two strings, a literal to which the engine skips.
    return re.compile(rf"\0\n({pattern})(?=\n\0)", re.VERBOSE)


def build_whole_finder(kinds: frozenset[str]) -> Callable[[list[str], str], Mapping[str, list[str]]]:
    """Builds a search that returns those strings by kind; it returns none if one of the strings holds a gap."""

    def find(texts: list[str], joined: str) -> Mapping[str, list[str]]:
        if len(texts) < _LEAST_STRINGS or joined.count(GAP) >= len(texts):
            return {}
        found: dict[str, list[str]] = {}
        # Only strings that may match: a check for one character is far faster than a pattern.
        if "email" in kinds and "@" in joined:
            found["EMAIL"] = _filter_matching(_EMAIL, [text for text in texts if "@" in text])
        if "phone" in kinds and "+" in joined:
            found["PHONE"] = _filter_matching(_PHONE, [text for text in texts if "+" in text])
        if "card" in kinds:
            found["CARD"] = [text for text in filter(str.isdigit, texts) if text.isascii() and is_card(text)]
        return {kind: some for kind, some in found.items() if some}

    return find


def _filter_matching(pattern: str, texts: list[str]) -> list[str]:
    return _compile_whole_pattern(pattern).findall(f"{SEPARATOR[1:]}{SEPARATOR.join(texts)}{SEPARATOR[:-1]}")
