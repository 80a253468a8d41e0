"""Describes values in few words: kinds, counts, ranges. Only a limited number of items is read."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from gristmill.model import Json
from gristmill.shaping.text.fold_text import fold_text

MAX_READ_VALUES = 200_000
"""Items of a column that are read; for a longer column evenly spaced ones, and the description says so."""
MAX_COUNTED_TEXTS = 6
"""Up to this many distinct texts are listed with their counts."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"}
Values = Sequence[Json]


def name_kind(value: Json) -> str:
    """Returns the name that JSON Schema has for the type of ``value``."""
    return _KINDS.get(type(value), "string")  # pyright: ignore[reportUnknownArgumentType]


def describe_value(value: Json, *, names: bool = True) -> str:
    """Describes a container in one line, for use where it is not shown."""
    if isinstance(value, Mapping) and not names:
        return f"<object, {len(value):,} keys>"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Mapping):
        keys = ", ".join(str(key) for key in islice(value, 8))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return f"<object, {len(value):,} keys: {fold_text(keys, 60)}>"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list):
        return f"<array, {len(value):,} items>"  # pyright: ignore[reportUnknownArgumentType]
    return f"<{name_kind(value)}, {len(str(value)):,} characters>"


def describe_kinds(values: Values) -> str:
    """Returns ``integer``, or ``integer or null (12 null)``; integers among numbers count as numbers."""
    counted = Counter(map(type, values))
    names = [_KINDS.get(one, "string") for one, _ in counted.most_common()]
    if "number" in names and "integer" in names:
        names.remove("integer")
    nulls = counted.get(type(None), 0)
    return " or ".join(names or ["nothing"]) + (f" ({nulls:,} null)" if nulls and len(names) > 1 else "")


def summarize_values(values: Values) -> str:
    """Returns the kinds and the main facts: range and mean, few distinct values, how many are true."""
    stride = -(-len(values) // MAX_READ_VALUES)
    looked = values[::stride] if stride > 1 else values
    present = [value for value in looked if value is not None] if None in looked else looked
    facts = _describe_facts(present)
    sampled = f", from every {stride}th" if stride > 1 else ""
    return f"{describe_kinds(looked)}{', ' if facts else ''}{facts}{sampled}"


def _describe_facts(values: Values) -> str:
    found = set(map(type, values))
    if not values or len(values) < 2:
        return ""
    if found <= {int, float}:
        return _describe_range(values)
    if found == {bool}:
        return f"{sum(values):,} true"
    return _describe_texts(values) if found == {str} else ""


def _describe_range(numbers: Values) -> str:
    try:
        mean = sum(numbers) / len(numbers)
    except OverflowError:  # integers beyond a float
        return ""
    # If NaN or infinity is among them, or their sum is beyond a float, no range is better than a wrong one.
    return f"{_format_number(min(numbers))} to {_format_number(max(numbers))}, mean {mean:.6g}" if math.isfinite(mean) else ""


def _format_number(number: float) -> str:
    return str(number) if isinstance(number, int) and abs(number) < 10**15 else f"{number:.6g}"


def _describe_texts(texts: Values) -> str:
    distinct = set(texts)
    if len(distinct) <= MAX_COUNTED_TEXTS and len(texts) >= 2 * len(distinct) and max(map(len, distinct)) <= 40:
        return ", ".join(f"{text} {number:,}" for text, number in Counter(texts).most_common())
    if _DATE.match(texts[0]) and _DATE.match(texts[-1]) and max(map(len, distinct)) <= 40:
        return f"{min(distinct)} to {max(distinct)}"
    return "all distinct" if len(distinct) == len(texts) else f"{len(distinct):,} distinct"
