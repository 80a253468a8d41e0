# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false
# pyright: reportOptionalMemberAccess=false, reportOptionalSubscript=false
# The agent's code is dynamic, and so is what runs it: strict typing stops at this door.
"""Any Python value as JSON: what a person would expect to see, and never an error."""

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import math
import sys

from gristmill.guest.planned_result import Planned

DEPTH, TEXT = 60, 20_000
SAFE_INTEGER = 1 << 64
_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def dumps(value: object, limit: int) -> tuple[str, bool]:
    """``value`` as JSON of at most ``limit`` bytes; a larger one is named, not sent. Returns text and whether it was whole."""
    if value is None:
        return "null", True
    try:
        # The fast way is also the common one: nothing but JSON's own types, and all keys text.
        text = _encode.encode(value) if _is_plain(value, 500) else _encode.encode(plain(value))
    except (TypeError, ValueError, RecursionError, OverflowError):
        text = _encode.encode(plain(value))
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    if size <= limit:
        return text, True
    note = f"<{_kind(value)} of {size:,} bytes as JSON, more than the {limit:,} that may be returned: print or return less>"
    return _encode.encode(note), False


def plain(value):
    """``value`` built from dict, list, str, int, float, bool and None only."""
    return _plain(value, DEPTH, set())


def _is_plain(value, budget):
    """True when a look at small values shows JSON's own types only; large ones are left to the encoder."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return -SAFE_INTEGER < value < SAFE_INTEGER
    if kind is float:
        return math.isfinite(value)
    if kind is list and len(value) <= budget:
        return all(_is_plain(item, budget // 4) for item in value)
    if kind is dict and len(value) <= budget:
        return all(type(key) is str and _is_plain(item, budget // 4) for key, item in value.items())
    return False


def _plain(value, depth, above):
    if value is None or isinstance(value, bool):
        return value
    if type(value) is Planned:
        return repr(value)  # any other look at it would stop the program
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth, above)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if depth == 0:
        return f"<{_kind(value)}, nested too deep>"
    if id(value) in above:
        return f"<{_kind(value)}, contains itself>"
    above.add(id(value))
    try:
        return _compound(value, depth - 1, above)
    except BaseException as error:
        return f"<{_kind(value)}, cannot be shown: {type(error).__name__}>"
    finally:
        above.discard(id(value))


def _integer(value):
    if -SAFE_INTEGER < value < SAFE_INTEGER:
        return int(value)
    # Past 64 bits other parsers lose digits or give up; past a few thousand digits Python itself refuses.
    return str(value) if value.bit_length() < 14_000 else f"<integer of {value.bit_length():,} bits>"


def _compound(value, depth, above):
    if isinstance(value, dict):
        return {_key(key): _plain(item, depth, above) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict(), depth, above)
    if isinstance(value, list | tuple | range) or type(value).__name__ in ("dict_keys", "dict_values", "dict_items", "deque"):
        return [_plain(item, depth, above) for item in value]
    if isinstance(value, set | frozenset):
        return [_plain(item, depth, above) for item in _ordered(value)]
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat() if value == value else None  # pandas' NaT does not equal itself
    if isinstance(value, datetime.timedelta | decimal.Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name), depth, above) for field in dataclasses.fields(value)}
    if isinstance(value, BaseException):
        return f"{_kind(value)}: {value}"
    return _foreign(value, depth, above)


def _foreign(value, depth, above):
    """numpy, pandas and pydantic, without importing any of them."""
    origin = type(value).__module__.partition(".")[0]
    if origin == "pandas" and hasattr(value, "to_dict"):
        if hasattr(value, "columns"):
            frame = value if type(value.index).__name__ == "RangeIndex" else value.reset_index()
            return _plain(frame.to_dict("records"), depth, above)
        return _plain(value.tolist() if type(value.index).__name__ == "RangeIndex" else value.to_dict(), depth, above)
    if origin in ("numpy", "pandas") and hasattr(value, "tolist"):
        return _plain(value.tolist(), depth, above)
    if origin == "pandas" and not (value == value):
        return None
    if hasattr(value, "model_dump"):
        return _plain(value.model_dump(), depth, above)
    if isinstance(value, type(sys)) or callable(value) or hasattr(value, "__next__"):
        return clip(repr(value))
    return clip(str(value) if type(value).__str__ is not object.__str__ else repr(value))


def _key(key):
    return key if type(key) is str else str(plain(key) if not isinstance(key, tuple) else ", ".join(map(str, key)))


def _ordered(value):
    try:
        return sorted(value)
    except TypeError:
        return sorted(value, key=repr)


def _bytes(value):
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(value).decode()}"


def _kind(value):
    return type(value).__name__


def clip(text: str) -> str:
    """``text`` short enough to be shown."""
    return (
        text
        if len(text) <= TEXT
        else f"{text[: TEXT // 2]}\n... [{len(text) - TEXT:,} characters left out] ...\n{text[-TEXT // 2 :]}"
    )
