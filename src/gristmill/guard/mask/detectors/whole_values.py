"""Strings that plainly are one mail address, one telephone number with a ``+`` or one card number, and nothing else.

In rows of a table most findings are all of a field. Of strings that are searched together those are seen in one pass, and need
none of what findings inside of texts need: where they begin and end, what else was found there, what stands beside them. What is
found is what the searches of ``find_*`` find, which see everything that is not so plain.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache

from gristmill.guard.mask.detectors.account_numbers import ABROAD
from gristmill.guard.mask.detectors.checksums import cards_among
from gristmill.guard.mask.detectors.digit_runs import NO_DATE
from gristmill.guard.mask.detectors.emails import FILE_ENDINGS
from gristmill.guard.mask.text_spans import BETWEEN, GAP

_NO_FILE = rf"(?!(?:{'|'.join(sorted(FILE_ENDINGS))})\n)"
_EMAIL = r"[0-9A-Za-z_+][0-9A-Za-z_.+-]{0,63}+@(?:[0-9A-Za-z][0-9A-Za-z-]{0,62}+\.){1,8}" + _NO_FILE + r"[a-z]{2,24}+"
_PHONE = rf"(?=\+{NO_DATE})(?:{ABROAD})"
_FEWEST = 16
"""Strings from which on this is worth another pass."""


@cache  # a start does not need them
def _whole(pattern: str) -> re.Pattern[str]:
    # Begins with a literal, to which the engine skips: what stands between two strings.
    return re.compile(rf"\0\n({pattern})(?=\n\0)", re.VERBOSE)


def whole_finder(kinds: frozenset[str]) -> Callable[[list[str], str], Mapping[str, list[str]]]:
    """A search for those strings, by kind, among some that have been joined; none where one of them has a gap in it."""

    def find(texts: list[str], joined: str) -> Mapping[str, list[str]]:
        if len(texts) < _FEWEST or joined.count(GAP) >= len(texts):
            return {}
        found: dict[str, list[str]] = {}
        # Only those that may be one: to ask for one character is far quicker than to try a pattern.
        if "email" in kinds and "@" in joined:
            found["EMAIL"] = _those_that_are(_EMAIL, [text for text in texts if "@" in text])
        if "phone" in kinds and "+" in joined:
            found["PHONE"] = _those_that_are(_PHONE, [text for text in texts if "+" in text])
        if "card" in kinds:
            found["CARD"] = cards_among([text for text in filter(str.isdigit, texts) if text.isascii()])
        return {kind: some for kind, some in found.items() if some}

    return find


def _those_that_are(pattern: str, texts: list[str]) -> list[str]:
    return _whole(pattern).findall(f"{BETWEEN[1:]}{BETWEEN.join(texts)}{BETWEEN[:-1]}")
