# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Converts arguments that JSON has no form for, one level at a time; the encoder of calls asks again for what is inside.

What is converted here can be read in one way only. Bytes, functions and other objects stay errors. A decimal number is sent as
text: the host knows whether the tool asks for a number.
"""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import itertools
import os
import uuid

from gristmill.guest.calls.pending_call import PendingCall
from gristmill.guest.calls.planned_result import PlannedResult
from gristmill.guest.values.run_notes import RUN_NOTES

MOST_ITEMS = 1_000_001
"""One more than a call may hold: an endless iterator ends here, and the call is refused."""
_VIEWS = (type({}.keys()), type({}.values()), type({}.items()), collections.deque, range)


def convert_argument(value: object) -> object:
    """Returns ``value`` in a form that is closer to JSON; the ``default`` of the encoder of calls.

    Raises:
        TypeError: there is no such form, or more than one.
    """
    if type(value) is PlannedResult:
        return value.reference()
    if type(value) is PendingCall:
        return value.result()
    found = _convert_standard(value)
    if found is None:
        found = _convert_foreign(value)
    if found is None:
        what = f"a tool's arguments are JSON values, and {type(value).__name__} is not one"
        raise TypeError(f"{what}: pass text, numbers, lists or dictionaries")
    kind, converted = found
    RUN_NOTES.add(f"sent:{kind}")
    return converted


def _convert_standard(value):
    if isinstance(value, enum.Enum):
        return "enum", value.value
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return "date", value.isoformat() if value == value else None  # pandas' NaT does not equal itself
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return "decimal", format(value, "f")
    if isinstance(value, fractions.Fraction):
        return "decimal", float(value)
    if isinstance(value, uuid.UUID):
        return "uuid", str(value)
    if isinstance(value, os.PathLike):
        path = os.fspath(value)
        return ("path", path) if isinstance(path, str) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "dataclass", {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return "set", _sort_items(value)
    if isinstance(value, _VIEWS):
        return "sequence", list(value)
    return None


def _convert_foreign(value):
    """Converts iterators, and values of pydantic, numpy and pandas without importing these packages."""
    kind = type(value)
    if hasattr(kind, "model_dump"):
        return "pydantic", value.model_dump(mode="json")
    origin = kind.__module__.partition(".")[0]
    if origin == "pandas" and hasattr(kind, "columns") and hasattr(kind, "to_dict"):
        return "table", value.to_dict("records")
    if origin in ("numpy", "pandas") and hasattr(kind, "tolist"):
        return "numpy", value.tolist()
    if origin == "numpy" and hasattr(kind, "item"):
        return "numpy", value.item()
    if origin == "pandas" and kind.__name__ == "NAType":
        return "numpy", None
    if hasattr(kind, "__next__"):
        return "sequence", list(itertools.islice(value, MOST_ITEMS))
    return None


def _sort_items(value):
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)
