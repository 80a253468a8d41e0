"""What the words of a condition mean, on JSON values, with a third answer: unknown. Pure; `conditions` reads the words."""

import math
import posixpath
import re
from collections.abc import Callable, Mapping
from enum import Enum
from fnmatch import translate
from functools import lru_cache
from typing import Final, cast

from gristmill.model import Json

LIKE_CHARS = 100_000
"""Patterns are not tried on longer texts."""


class Unknown(Enum):
    """What is no truth value. ``MISSING`` is the value of an argument that was not given."""

    UNKNOWN = 0
    MISSING = 1


UNKNOWN: Final = Unknown.UNKNOWN
MISSING: Final = Unknown.MISSING

Truth = bool | Unknown
Compare = Callable[[Json, Json], Truth]


def both(left: Json, right: Callable[[], Json]) -> Truth:
    """False if either is; else unknown if either is."""
    if left is False:
        return False
    other = right()
    return False if other is False else True if left is True and other is True else UNKNOWN


def either(left: Json, right: Callable[[], Json]) -> Truth:
    """True if either is; else unknown if either is."""
    if left is True:
        return True
    other = right()
    return True if other is True else False if left is False and other is False else UNKNOWN


def every(compare: Compare, items: Json, right: Json) -> Truth:
    """Whether all of a list compare so; an empty list does."""
    answers = [compare(item, right) for item in cast("list[Json]", items)] if isinstance(items, list) else [UNKNOWN]
    return False if False in answers else UNKNOWN if any(isinstance(each, Unknown) for each in answers) else True


def some(compare: Compare, items: Json, right: Json) -> Truth:
    """Whether at least one of a list compares so."""
    answers = [compare(item, right) for item in cast("list[Json]", items)] if isinstance(items, list) else [UNKNOWN]
    return True if True in answers else UNKNOWN if any(isinstance(each, Unknown) for each in answers) else False


def _kind(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        # Not a number compares as false with everything, which would let it slip past a deny rule.
        return "unknown" if isinstance(value, float) and math.isnan(value) else "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list) else "object" if isinstance(value, Mapping) else "unknown"


def _equal(left: Json, right: Json) -> Truth:
    one, other = _kind(left), _kind(right)
    if "unknown" in (one, other):
        return UNKNOWN
    if one != other:
        # A server may well read "5" as 5: only null is surely different from all else.
        return False if "null" in (one, other) else UNKNOWN
    if one == "object":
        return UNKNOWN
    return _equal_lists(cast("list[Json]", left), cast("list[Json]", right)) if one == "list" else bool(left == right)


def _equal_lists(left: list[Json], right: list[Json]) -> Truth:
    if len(left) != len(right):
        return False
    answers = [_equal(one, other) for one, other in zip(left, right, strict=True)]
    return False if False in answers else UNKNOWN if any(isinstance(each, Unknown) for each in answers) else True


def _unequal(left: Json, right: Json) -> Truth:
    answer = _equal(left, right)
    return not answer if isinstance(answer, bool) else UNKNOWN


def _among(left: Json, right: Json) -> Truth:
    if isinstance(left, str) and isinstance(right, str):
        return left in right
    if _kind(left) == "unknown" or not isinstance(right, list):
        return UNKNOWN
    listed = cast("list[Json]", right)
    answers = [_equal(left, each) for each in listed if _kind(each) == _kind(left)]
    if True in answers:
        return True
    # Nothing of its kind in the list: the value cannot be held against it, so nothing is known about it.
    return False if (answers and UNKNOWN not in answers) or not listed or left is None else UNKNOWN


def _ordered(compare: Callable[[Json, Json], bool]) -> Compare:
    def ordered(left: Json, right: Json) -> Truth:
        kind = _kind(left)
        return compare(left, right) if kind in ("number", "text") and kind == _kind(right) else UNKNOWN

    return ordered


def _texts(compare: Callable[[str, str], Truth]) -> Compare:
    return lambda left, right: compare(left, right) if isinstance(left, str) and isinstance(right, str) else UNKNOWN


def _like(text: str, pattern: str) -> Truth:
    return bool(_pattern(pattern).match(text)) if len(text) <= LIKE_CHARS else UNKNOWN


@lru_cache(256)
def _pattern(pattern: str) -> re.Pattern[str]:
    # The standard library's translation does not backtrack; a bracket is a bracket here.
    return re.compile(translate(pattern.replace("[", "[[]")))


def _under(path: str, folder: str) -> Truth:
    """Whether a path lies in ``folder``. One that is relative or climbs (``..``) depends on more than the text: unknown."""
    parts = path.split("/")
    if not path.startswith("/") or ".." in parts or "\0" in path or "\\" in path or "%" in path:
        return UNKNOWN
    base = posixpath.normpath("/" + folder.strip("/"))
    plain = "/" + "/".join(part for part in parts if part not in ("", "."))
    return plain == base or plain.startswith(base.rstrip("/") + "/")


def _length(value: Json) -> Json:
    return len(value) if isinstance(value, str | list | Mapping) else UNKNOWN  # pyright: ignore[reportUnknownArgumentType]


def _lower(value: Json) -> Json:
    return value.casefold() if isinstance(value, str) else UNKNOWN


COMPARISONS: Mapping[str, Compare] = {
    "<": _ordered(lambda left, right: left < right),
    "<=": _ordered(lambda left, right: left <= right),
    ">": _ordered(lambda left, right: left > right),
    ">=": _ordered(lambda left, right: left >= right),
    "==": _equal,
    "!=": _unequal,
    "in": _among,
    "contains": lambda left, right: _among(right, left),
    "startswith": _texts(str.startswith),
    "endswith": _texts(str.endswith),
    "like": _texts(_like),
    "under": _texts(_under),
}
"""Each word and what it does with the values left and right of it."""

FUNCTIONS: Mapping[str, Callable[[Json], Json]] = {"len": _length, "lower": _lower}
