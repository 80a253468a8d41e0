# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# A program's code is dynamic, and so is the code that runs it: this file is not type-checked strictly.
"""Converts any Python value to JSON in the form that a person would expect. Values of any type are accepted."""

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
import sys

from gristmill.guest.calls.planned_result import PlannedResult
from gristmill.guest.values.result_objects import ResultObject
from gristmill.guest.values.shown_media import show_text, show_value

MOST_DEPTH, MOST_TEXT = 60, 20_000
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 64) - 1
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def encode_value(value: object, limit: int) -> tuple[str, bool]:
    """Encodes ``value`` as JSON of at most ``limit`` bytes, or a note in its place; returns the text and whether it is whole.

    Raises:
        UnicodeEncodeError: a text in it has no UTF-8 form.
    """
    if value is None:
        return "null", True
    if type(value) is str:
        show_text(value)
    try:
        # The fast path is also the common one: only JSON's own types, and all keys are text.
        text = _encode.encode(value) if _is_plain(value, 500) else _encode.encode(make_plain(value))
    except (TypeError, ValueError, RecursionError, OverflowError):
        text = _encode.encode(make_plain(value))
    size = len(text) if text.isascii() else len(text.encode("utf-8"))
    if size <= limit:
        return text, True
    note = f"<{_name_type(value)} of {size:,} bytes as JSON, more than the {limit:,} that may be returned: print or return less>"
    return _encode.encode(note), False


def make_plain(value):
    """Converts ``value`` to dict, list, str, int, float, bool and None only."""
    return _convert_value(value, MOST_DEPTH, set())


def _is_plain(value, budget):
    """Returns True for a small value that holds only JSON's own types; large values are left to the encoder."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return LEAST_INTEGER <= value <= MOST_INTEGER
    if kind is float:
        return math.isfinite(value)
    if kind is list and len(value) <= budget:
        return all(_is_plain(item, budget // 4) for item in value)
    if (kind is dict or kind is ResultObject) and len(value) <= budget:
        return all(type(key) is str and _is_plain(item, budget // 4) for key, item in value.items())
    return False


def _convert_value(value, depth, above):
    if value is None or isinstance(value, bool):
        return value
    if type(value) is PlannedResult:
        return repr(value)  # any other operation on it would stop the program
    if isinstance(value, enum.Enum):
        return _convert_value(value.value, depth, above)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return _convert_integer(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if depth == 0:
        return f"<{_name_type(value)}, nested too deep>"
    if id(value) in above:
        return f"<{_name_type(value)}, contains itself>"
    above.add(id(value))
    try:
        return _convert_compound(value, depth - 1, above)
    except BaseException as error:
        return f"<{_name_type(value)}, cannot be shown: {type(error).__name__}>"
    finally:
        above.discard(id(value))


def _convert_integer(value):
    if LEAST_INTEGER <= value <= MOST_INTEGER:
        return int(value)
    # Beyond 64 bits other parsers lose digits or fail; beyond a few thousand digits Python itself refuses.
    return str(value) if value.bit_length() < 14_000 else f"<integer of {value.bit_length():,} bits>"


def _convert_compound(value, depth, above):
    if isinstance(value, dict):
        return {_convert_key(key): _convert_value(item, depth, above) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _convert_value(value._asdict(), depth, above)
    if isinstance(value, list | tuple | range) or type(value).__name__ in ("dict_keys", "dict_values", "dict_items", "deque"):
        return [_convert_value(item, depth, above) for item in value]
    if isinstance(value, set | frozenset):
        return [_convert_value(item, depth, above) for item in _sort_items(value)]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat() if value == value else None  # pandas' NaT does not equal itself
    if isinstance(value, datetime.timedelta | decimal.Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _convert_bytes(bytes(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _convert_value(getattr(value, field.name), depth, above) for field in dataclasses.fields(value)}
    if isinstance(value, BaseException):
        return f"{_name_type(value)}: {value}"
    return _convert_foreign(value, depth, above)


def _convert_foreign(value, depth, above):
    """Converts values of numpy, pandas and pydantic without importing these packages; pictures go beside the result."""
    shown = show_value(value)
    if shown is not None:
        return _convert_value(shown, depth, above)
    origin = type(value).__module__.partition(".")[0]
    if origin == "pandas" and hasattr(value, "to_dict"):
        if hasattr(value, "columns"):
            frame = value if type(value.index).__name__ == "RangeIndex" else value.reset_index()
            return _convert_value(frame.to_dict("records"), depth, above)
        return _convert_value(value.tolist() if type(value.index).__name__ == "RangeIndex" else value.to_dict(), depth, above)
    if origin in ("numpy", "pandas") and hasattr(value, "tolist"):
        return _convert_value(value.tolist(), depth, above)
    if origin == "pandas" and not (value == value):
        return None
    if hasattr(value, "model_dump"):
        return _convert_value(value.model_dump(), depth, above)
    if isinstance(value, type(sys)) or callable(value) or hasattr(value, "__next__"):
        return clip_text(repr(value))
    return clip_text(str(value) if type(value).__str__ is not object.__str__ else repr(value))


def _convert_key(key):
    return key if type(key) is str else str(make_plain(key) if not isinstance(key, tuple) else ", ".join(map(str, key)))


def _sort_items(value):
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)


def _convert_bytes(value):
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(value).decode()}"


def _name_type(value):
    return type(value).__name__


def clip_text(text: str) -> str:
    """Shortens ``text`` so that it can be shown."""
    return (
        text
        if len(text) <= MOST_TEXT
        else f"{text[: MOST_TEXT // 2]}\n... [{len(text) - MOST_TEXT:,} characters left out] ...\n{text[-MOST_TEXT // 2 :]}"
    )
