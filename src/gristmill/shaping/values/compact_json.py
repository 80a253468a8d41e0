"""A JSON value as compact JSON: the bytes that are kept in a file and the text whose tokens are counted."""

import json

import msgspec

from gristmill.model import Json


def encode(value: Json) -> bytes | None:
    """``value`` as UTF-8 JSON without spaces; nothing when it is nested too deep to be written at all."""
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        return None
    except UnicodeEncodeError:  # half of a surrogate pair: legal in JSON as an escape, but not in UTF-8
        return _escaped(value)


def as_text(value: Json) -> str:
    """The text that a door sends for ``value``, and that the budget is counted on."""
    return (encode(value) or b'"<nested too deep to be shown>"').decode()


def _escaped(value: Json) -> bytes | None:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (RecursionError, ValueError):
        return None
