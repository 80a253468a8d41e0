"""Encodes a JSON value as compact JSON: the bytes that are kept in a file, and the text whose tokens are counted."""

import json

import msgspec

from gristmill.model import Json


def encode_json(value: Json) -> bytes | None:
    """Returns ``value`` as UTF-8 JSON without spaces; None if it is nested too deep to be written."""
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        return None
    except UnicodeEncodeError:  # half of a surrogate pair: legal in JSON as an escape, but not in UTF-8
        return _encode_with_escapes(value)


def encode_json_text(value: Json) -> str:
    """Returns the text that a door sends for ``value``; the budget is counted on it."""
    return (encode_json(value) or b'"<nested too deep to be shown>"').decode()


def _encode_with_escapes(value: Json) -> bytes | None:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
    except (RecursionError, ValueError):
        return None
