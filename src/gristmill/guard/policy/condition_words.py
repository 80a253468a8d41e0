"""Evaluates the operators of conditions on JSON values; the answer is true, false or unknown. `conditions` parses them."""

import math
import posixpath
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final, cast

from gristmill.guard.policy.globs import compile_glob
from gristmill.model import Json

MOST_LIKE_CHARACTERS = 100_000
"""The longest text that is matched against a pattern; a longer one gives unknown."""

MOST_PATTERN_CHARACTERS = 1_000
"""The longest pattern; a longer one gives unknown. A pattern can be an argument of the call; compiling a long one takes time."""


class Unknown(Enum):
    """The values that are neither true nor false. ``MISSING`` stands for an argument that was not given."""

    UNKNOWN = 0
    MISSING = 1


UNKNOWN: Final = Unknown.UNKNOWN
MISSING: Final = Unknown.MISSING

Truth = bool | Unknown
"""What an operator answers."""
Compare = Callable[[Json, Json], Truth]


def combine_with_and(left: Json, right: Callable[[], Json]) -> Truth:
    """Combines by ``and``: false if either side is false, else unknown if either side is unknown."""
    if left is False:
        return False
    other = right()
    return False if other is False else True if left is True and other is True else UNKNOWN


def combine_with_or(left: Json, right: Callable[[], Json]) -> Truth:
    """Combines by ``or``: true if either side is true, else unknown if either side is unknown."""
    if left is True:
        return True
    other = right()
    return True if other is True else False if left is False and other is False else UNKNOWN


def compare_every_item(compare: Compare, items: Json, right: Json) -> Truth:
    """Tells whether ``compare`` holds for every item of a list; for an empty list it does."""
    answers = [compare(item, right) for item in cast("list[Json]", items)] if isinstance(items, list) else [UNKNOWN]
    return False if False in answers else UNKNOWN if any(isinstance(each, Unknown) for each in answers) else True


def compare_any_item(compare: Compare, items: Json, right: Json) -> Truth:
    """Tells whether ``compare`` holds for at least one item of a list."""
    answers = [compare(item, right) for item in cast("list[Json]", items)] if isinstance(items, list) else [UNKNOWN]
    return True if True in answers else UNKNOWN if any(isinstance(each, Unknown) for each in answers) else False


def _classify_value(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        # NaN compares as false with every number, so a deny rule would not match it.
        return "unknown" if isinstance(value, float) and math.isnan(value) else "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list) else "object" if isinstance(value, Mapping) else "unknown"


def _compare_equal(left: Json, right: Json) -> Truth:
    one, other = _classify_value(left), _classify_value(right)
    if "unknown" in (one, other):
        return UNKNOWN
    if one != other:
        # A server may read "5" as 5; only null certainly differs from values of all other kinds.
        return False if "null" in (one, other) else UNKNOWN
    if one == "object":
        return UNKNOWN
    return _compare_lists(cast("list[Json]", left), cast("list[Json]", right)) if one == "list" else bool(left == right)


def _compare_lists(left: list[Json], right: list[Json]) -> Truth:
    if len(left) != len(right):
        return False
    answers = [_compare_equal(one, other) for one, other in zip(left, right, strict=True)]
    return False if False in answers else UNKNOWN if any(isinstance(each, Unknown) for each in answers) else True


def _compare_unequal(left: Json, right: Json) -> Truth:
    answer = _compare_equal(left, right)
    return not answer if isinstance(answer, bool) else UNKNOWN


def _compare_membership(left: Json, right: Json) -> Truth:
    if isinstance(left, str) and isinstance(right, str):
        return left in right
    if _classify_value(left) == "unknown" or not isinstance(right, list):
        return UNKNOWN
    listed = cast("list[Json]", right)
    answers = [_compare_equal(left, each) for each in listed if _classify_value(each) == _classify_value(left)]
    if True in answers:
        return True
    # The list holds no value of the same kind, so there is nothing to compare with and the answer is unknown.
    return False if (answers and UNKNOWN not in answers) or not listed or left is None else UNKNOWN


def _only_for_ordered_kinds(compare: Callable[[Json, Json], bool]) -> Compare:
    def compare_ordered(left: Json, right: Json) -> Truth:
        kind = _classify_value(left)
        return compare(left, right) if kind in ("number", "text") and kind == _classify_value(right) else UNKNOWN

    return compare_ordered


def _only_for_texts(compare: Callable[[str, str], Truth]) -> Compare:
    return lambda left, right: compare(left, right) if isinstance(left, str) and isinstance(right, str) else UNKNOWN


def _is_like(text: str, pattern: str) -> Truth:
    if len(text) > MOST_LIKE_CHARACTERS or len(pattern) > MOST_PATTERN_CHARACTERS:
        return UNKNOWN
    return bool(compile_glob(pattern).match(text))


def _is_under_folder(path: str, folder: str) -> Truth:
    """Tells whether a path lies in ``folder``. For a relative path, or one with ``..``, its text cannot tell: unknown."""
    parts = path.split("/")
    if not path.startswith("/") or ".." in parts or "\0" in path or "\\" in path or "%" in path:
        return UNKNOWN
    base = posixpath.normpath("/" + folder.strip("/"))
    plain = "/" + "/".join(part for part in parts if part not in ("", "."))
    return plain == base or plain.startswith(base.rstrip("/") + "/")


def _measure_length(value: Json) -> Json:
    return len(value) if isinstance(value, str | list | Mapping) else UNKNOWN  # pyright: ignore[reportUnknownArgumentType]


def _lower_text(value: Json) -> Json:
    return value.casefold() if isinstance(value, str) else UNKNOWN


COMPARISONS: Mapping[str, Compare] = {
    "<": _only_for_ordered_kinds(lambda left, right: left < right),
    "<=": _only_for_ordered_kinds(lambda left, right: left <= right),
    ">": _only_for_ordered_kinds(lambda left, right: left > right),
    ">=": _only_for_ordered_kinds(lambda left, right: left >= right),
    "==": _compare_equal,
    "!=": _compare_unequal,
    "in": _compare_membership,
    "contains": lambda left, right: _compare_membership(right, left),
    "startswith": _only_for_texts(str.startswith),
    "endswith": _only_for_texts(str.endswith),
    "like": _only_for_texts(_is_like),
    "under": _only_for_texts(_is_under_folder),
}
"""Each operator and the function that compares the values left and right of it."""

FUNCTIONS: Mapping[str, Callable[[Json], Json]] = {"len": _measure_length, "lower": _lower_text}
