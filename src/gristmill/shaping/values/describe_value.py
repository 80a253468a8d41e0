"""What a value is made of, said in few words: kinds, counts, ranges. A bounded number of items is looked at."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from gristmill.model import Json
from gristmill.shaping.text.fold_text import fold

LOOKED_AT = 200_000
"""Items of a column that are looked at; of a longer one evenly spaced ones, and said so."""
FEW = 6
"""Up to so many distinct texts are told with their counts."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_KINDS = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array", type(None): "null"}
Values = Sequence[Json]


def kind(value: Json) -> str:
    """JSON Schema's word for it."""
    return _KINDS.get(type(value), "string")  # pyright: ignore[reportUnknownArgumentType]


def describe(value: Json, *, names: bool = True) -> str:
    """A container in one line, for where it is not shown."""
    if isinstance(value, Mapping) and not names:
        return f"<object, {len(value):,} keys>"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, Mapping):
        told = ", ".join(str(key) for key in islice(value, 8))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        return f"<object, {len(value):,} keys: {fold(told, 60)}>"  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list):
        return f"<array, {len(value):,} items>"  # pyright: ignore[reportUnknownArgumentType]
    return f"<{kind(value)}, {len(str(value)):,} characters>"


def kinds(values: Values) -> str:
    """``integer``, or ``integer or null (12 null)``; integers among numbers are numbers."""
    counted = Counter(map(type, values))
    names = [_KINDS.get(one, "string") for one, _ in counted.most_common()]
    if "number" in names and "integer" in names:
        names.remove("integer")
    nulls = counted.get(type(None), 0)
    return " or ".join(names or ["nothing"]) + (f" ({nulls:,} null)" if nulls and len(names) > 1 else "")


def summarize(values: Values) -> str:
    """The kinds, and what is worth knowing of them: range and mean, few distinct values, how many are true."""
    stride = -(-len(values) // LOOKED_AT)
    looked = values[::stride] if stride > 1 else values
    told = [value for value in looked if value is not None] if None in looked else looked
    facts = _facts(told)
    sampled = f", from every {stride}th" if stride > 1 else ""
    return f"{kinds(looked)}{', ' if facts else ''}{facts}{sampled}"


def _facts(told: Values) -> str:
    found = set(map(type, told))
    if not told or len(told) < 2:
        return ""
    if found <= {int, float}:
        return _range(told)
    if found == {bool}:
        return f"{sum(told):,} true"
    return _texts(told) if found == {str} else ""


def _range(numbers: Values) -> str:
    try:
        mean = sum(numbers) / len(numbers)
    except OverflowError:  # integers beyond a float
        return ""
    # Not JSON's own numbers are among them, or their sum is beyond a float: no range is better than a wrong one.
    return f"{_number(min(numbers))} to {_number(max(numbers))}, mean {mean:.6g}" if math.isfinite(mean) else ""


def _number(number: float) -> str:
    return str(number) if isinstance(number, int) and abs(number) < 10**15 else f"{number:.6g}"


def _texts(texts: Values) -> str:
    distinct = set(texts)
    if len(distinct) <= FEW and len(texts) >= 2 * len(distinct) and max(map(len, distinct)) <= 40:
        return ", ".join(f"{text} {number:,}" for text, number in Counter(texts).most_common())
    if _DATE.match(texts[0]) and _DATE.match(texts[-1]) and max(map(len, distinct)) <= 40:
        return f"{min(distinct)} to {max(distinct)}"
    return "all distinct" if len(distinct) == len(texts) else f"{len(distinct):,} distinct"
