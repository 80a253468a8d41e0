"""Bounds of JSON that strangers send: how deep it is nested, how many values it holds, how large its integers are.

Values and integers are counted in the bytes, before a parser builds anything from them: a few megabytes of brackets would become
a gigabyte of objects. The depth is measured afterwards, since the parser itself refuses what is nested a thousand levels deep.
"""

from collections.abc import Iterable, Mapping
from typing import cast

from gristmill.model import Json

MOST_DEPTH = 100
"""How deep arrays and objects may be nested: code that walks a value by recursion then never meets Python's own limit."""
MOST_VALUES = 1_000_000
"""How many values one document may hold, keys not counted."""
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 64) - 1
"""Identifiers and times of many services need more than the 53 bits that a float keeps; no parser in use has more than 64."""

_SAFE_DIGITS = 19
"""An integer of so many digits fits in 64 bits, except for the last few."""
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
_LONG_INTEGER = b"0" * _SAFE_DIGITS
_SEPARATORS = bytes.maketrans(b"[]{}:", b",,,,,")
_TOO_DEEP = f"a value is nested deeper than {MOST_DEPTH} levels: make it flatter, or send it as text"
_TOO_MANY = f"more than {MOST_VALUES:,} values came at once: send fewer"
_TOO_LARGE = "an integer does not fit in 64 bits: send it as text"


class JsonOutOfBounds(ValueError):
    """A JSON document is nested too deep, holds too many values, or has an integer that does not fit in 64 bits."""


def check_json_text(text: bytes) -> bool:
    """Checks a JSON document that was not parsed yet; returns whether its depth has to be checked after it was parsed.

    Text that is not JSON may pass: the parser refuses it.

    Raises:
        JsonOutOfBounds: it holds too many values or too large an integer.
    """
    # This counts what is inside of strings too. Only a document that exceeds a bound even so needs a closer look.
    opened = text.count(b"[") + text.count(b"{")
    if opened + text.count(b",") > MOST_VALUES or _LONG_INTEGER in text.translate(_DIGITS_TO_ZERO):
        _check_structure(_remove_strings(text))
    return opened > MOST_DEPTH


def check_json_depth(values: Iterable[Json]) -> None:
    """Checks how deep each of these parsed values is nested. It does not recurse.

    Raises:
        JsonOutOfBounds: one of them is nested too deep.
    """
    level = [value for value in values if type(value) in (dict, list)]
    for _ in range(MOST_DEPTH):
        if not level:
            return
        level = [
            item
            for holder in level
            for item in cast("Iterable[Json]", holder.values() if type(holder) is dict else holder)
            if type(item) in (dict, list)
        ]
    if level:
        raise JsonOutOfBounds(_TOO_DEEP)


def check_json_values(values: Iterable[Json]) -> None:
    """Checks values that were parsed elsewhere against all bounds. It does not recurse.

    Raises:
        JsonOutOfBounds: one of them is nested too deep, or there are too many, or an integer is too large.
    """
    level, count = list(values), 0
    for _ in range(MOST_DEPTH + 1):
        count += len(level)
        if count > MOST_VALUES:
            raise JsonOutOfBounds(_TOO_MANY)
        if any(type(item) is int and not LEAST_INTEGER <= item <= MOST_INTEGER for item in level):
            raise JsonOutOfBounds(_TOO_LARGE)
        level = [
            item
            for holder in level
            if isinstance(holder, Mapping | list | tuple)
            for item in cast("Iterable[Json]", holder.values() if isinstance(holder, Mapping) else holder)
        ]
        if not level:
            return
    raise JsonOutOfBounds(_TOO_DEEP)


def _remove_strings(text: bytes) -> bytes:
    """Returns what stands outside of strings. Pairs of backslashes go first, so that the quotes left are those of strings."""
    plain = text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text
    return b'"'.join(plain.split(b'"')[::2])


def _check_structure(structure: bytes) -> None:
    if structure.count(b"[") + structure.count(b"{") + structure.count(b",") > MOST_VALUES:
        raise JsonOutOfBounds(_TOO_MANY)
    if _LONG_INTEGER not in structure.translate(_DIGITS_TO_ZERO):
        return
    for word in structure.translate(_SEPARATORS).split(b","):
        number = word.strip()
        # Fractions and exponents are floats, of which a parser takes any length.
        if len(number) >= _SAFE_DIGITS and number.removeprefix(b"-").isdigit() and not _fits_in_64_bits(number):
            raise JsonOutOfBounds(_TOO_LARGE)


def _fits_in_64_bits(number: bytes) -> bool:
    # The length first: Python takes quadratic time to read thousands of digits, and refuses more.
    return len(number) <= _SAFE_DIGITS + 1 and LEAST_INTEGER <= int(number) <= MOST_INTEGER
