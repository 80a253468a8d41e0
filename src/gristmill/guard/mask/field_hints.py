"""What the name of a field says about its value: ``phone`` makes a bare row of digits a telephone number."""

import math
import re
from collections import Counter
from functools import lru_cache
from typing import Literal

from gristmill.guard.mask.detectors.account_numbers import digits_of
from gristmill.guard.mask.detectors.checksums import passes_luhn

Hint = Literal["password", "key", "phone", "ssn", "card"]

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PASSWORD = re.compile(r"(?:^| )(?:password|passwd|pwd|passphrase|passcode|client secret|secret|secret key)$")
_KEY = re.compile(
    r"(?:^| )(?:token|apikey|(?:api|access|private|secret|signing|encryption|auth|account|session|master|shared) ?key"
    r"|credential|authorization|cookie|secret access key|connection string|webhook url)$"
)
_PAGING = re.compile(r"\b(?:page|next|prev|previous|continuation|sync|cursor|start|resume|scroll)\b")
_PHONE = re.compile(
    r"(?:^| )(?:phone|telephone|tel|mobile|cell|cellphone|fax|msisdn|whatsapp|landline)(?: (?:number|no|nr|home|work))?$"
)
_SSN = re.compile(r"(?:^| )(?:ssn|social security(?: number| no)?)$")
_CARD = re.compile(r"(?:^| )(?:card ?(?:number|no|num)|credit card|debit card|cc ?number|pan)$")
_HINTS: tuple[tuple[Hint, re.Pattern[str]], ...] = (
    ("phone", _PHONE), ("ssn", _SSN), ("card", _CARD), ("password", _PASSWORD), ("key", _KEY),
)  # fmt: skip

_PHONE_TEXT = re.compile(r"[+0-9(][0-9 ().\-/\u00a0\u2010-\u2013\u202f]{5,24}(?: ?(?:x|ext\.?) ?[0-9]{1,6})?")
_NO_SECRET = re.compile(
    r"(?i)(?:true|false|yes|no|none|null|nil|undefined|unset|empty|n/a|redacted|required|optional|string|[*x•.\-_]+|\$\{.*\}|\$\(.*\)|<[^<>]*>)"
)
_SHORTEST_PASSWORD, _SHORTEST_KEY, _LONGEST = 4, 16, 4_096
_ENOUGH = 64
_KEY_BITS = 3.0
"""Bits per character: prose and identifiers of sixteen and more characters stay below, random keys above."""


@lru_cache(maxsize=4_096)
def hint_of(name: str) -> Hint | None:
    """What a field of that name holds, or nothing in particular."""
    if len(name) > 64:
        return None
    words = " ".join(_WORDS.findall(name)).lower().removesuffix("s")
    return next(
        (hint for hint, pattern in _HINTS if pattern.search(words) and not (hint == "key" and _PAGING.search(words))), None
    )


def kind_in_field(hint: Hint, value: str) -> str | None:
    """The kind of ``value`` where a field with that hint holds it and nothing else."""
    if hint == "phone":
        return "PHONE" if _PHONE_TEXT.fullmatch(value) and 7 <= len(digits_of(value)) <= 21 else None
    if hint == "ssn":
        return (
            "SSN" if len(value) <= 11 and len(digits_of(value)) == 9 and len(value) - 9 == sum(map(value.count, "- ")) else None
        )
    if hint == "card":
        digits = digits_of(value)
        return "CARD" if 12 <= len(digits) <= 19 and len(value) <= 30 and passes_luhn(digits) else None
    return "SECRET" if is_secret(hint, value) else None


def is_secret(hint: Hint, value: str) -> bool:
    """Whether the value of a password or key field is one, rather than a word about it."""
    if _NO_SECRET.fullmatch(value[:64]) or len(value) > _LONGEST:
        return False
    if hint == "password":
        return len(value) >= _SHORTEST_PASSWORD
    return len(value) >= _SHORTEST_KEY and " " not in value.strip() and bits_per_character(value) >= _KEY_BITS


def bits_per_character(text: str) -> float:
    """Shannon's entropy of the characters, the first of them if there are many."""
    text = text[:_ENOUGH]
    length = len(text)
    return -sum(count / length * math.log2(count / length) for count in Counter(text).values())
