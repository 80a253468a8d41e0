"""Converts a value to the kind that a JSON schema asks for, where only one reading of it is possible."""

import re

import msgspec

from gristmill.json_bounds import JsonOutOfBounds, check_json_depth, check_json_text
from gristmill.model import Json

LONGEST_TEXT = 1_000_000
"""The longest text that is read as JSON."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_WHOLE_FRACTION = re.compile(r"(-?(?:0|[1-9][0-9]{0,14}))\.0+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?")
_BOOLEANS = {"true": True, "false": False}


class NoFit(ValueError):
    """The value has no reading of that kind, or more than one."""


def convert_to_kind(value: Json, kind: str) -> Json:
    """Converts a value to a kind of JSON Schema that it is not.

    A number or a boolean may be given as text, one element where a list is asked, and a list or an object as its JSON text.
    Zeros in front of a number and commas in a text that should be a list leave a doubt.

    Raises:
        NoFit: it cannot be converted without a doubt.
    """
    if isinstance(value, str):
        return _convert_text(value.strip(), value, kind)
    if kind == "array" and value is not None and not isinstance(value, list):
        return [value]
    raise NoFit


def _convert_text(text: str, whole: str, kind: str) -> Json:
    match kind:
        case "integer" if _INTEGER.fullmatch(text):
            return int(text)
        case "integer" if found := _WHOLE_FRACTION.fullmatch(text):
            return int(found[1])
        case "number" if _INTEGER.fullmatch(text):
            return int(text)
        case "number" if _NUMBER.fullmatch(text):
            return float(text)
        case "boolean" if text.lower() in _BOOLEANS:
            return _BOOLEANS[text.lower()]
        case "object" if text.startswith("{"):
            return _read_json(text, dict)
        case "array" if text.startswith("["):
            return _read_json(text, list)
        case "array" if text and "," not in text and "\n" not in text:
            return [whole]
        case _:
            raise NoFit


def _read_json(text: str, kind: type) -> Json:
    if len(text) > LONGEST_TEXT:
        raise NoFit
    try:
        encoded = text.encode()
        check_json_text(encoded)
        found = msgspec.json.decode(encoded)
        check_json_depth([found])
    except (JsonOutOfBounds, msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        raise NoFit from None
    if not isinstance(found, kind):
        raise NoFit
    return found
