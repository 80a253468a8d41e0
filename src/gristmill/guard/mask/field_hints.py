"""Uses the name of a field to recognise its value: in a field ``phone``, bare digits are a telephone number."""

import math
import re
from collections import Counter
from functools import lru_cache
from typing import Literal

from gristmill.guard.mask.detectors.account_numbers import extract_digits
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
_NOT_A_SECRET = re.compile(
    r"(?i)(?:true|false|yes|no|none|null|nil|undefined|unset|empty|n/a|redacted|required|optional|string|[*x•.\-_]+|\$\{.*\}|\$\(.*\)|<[^<>]*>)"
)
_SHORTEST_PASSWORD, _SHORTEST_KEY, _LONGEST_SECRET = 4, 16, 4_096
_ENTROPY_CHARACTERS = 64
_KEY_BITS = 3.0
"""Bits per character: prose and identifiers of sixteen or more characters have less, random keys have more."""


@lru_cache(maxsize=4_096)
def read_hint(name: str) -> Hint | None:
    """Returns what a field of that name probably holds; None if the name does not tell."""
    if len(name) > 64:
        return None
    words = " ".join(_WORDS.findall(name)).lower().removesuffix("s")
    return next(
        (hint for hint, pattern in _HINTS if pattern.search(words) and not (hint == "key" and _PAGING.search(words))), None
    )


def detect_field_kind(hint: Hint, value: str) -> str | None:
    """Returns the kind of ``value``, which is all that a field with that hint holds; None if it does not fit the hint."""
    if hint == "phone":
        return "PHONE" if _PHONE_TEXT.fullmatch(value) and 7 <= len(extract_digits(value)) <= 21 else None
    if hint == "ssn":
        return (
            "SSN"
            if len(value) <= 11 and len(extract_digits(value)) == 9 and len(value) - 9 == sum(map(value.count, "- "))
            else None
        )
    if hint == "card":
        digits = extract_digits(value)
        return "CARD" if 12 <= len(digits) <= 19 and len(value) <= 30 and passes_luhn(digits) else None
    return "SECRET" if is_secret_value(hint, value) else None


def is_secret_value(hint: Hint, value: str) -> bool:
    """Tells whether the value of a password or key field is a secret, and not a word such as ``required``."""
    if _NOT_A_SECRET.fullmatch(value[:64]) or len(value) > _LONGEST_SECRET:
        return False
    if hint == "password":
        return len(value) >= _SHORTEST_PASSWORD
    return len(value) >= _SHORTEST_KEY and " " not in value.strip() and measure_entropy(value) >= _KEY_BITS


def measure_entropy(text: str) -> float:
    """Computes Shannon's entropy of the characters; of a long text, only of its first characters."""
    text = text[:_ENTROPY_CHARACTERS]
    length = len(text)
    return -sum(count / length * math.log2(count / length) for count in Counter(text).values())
