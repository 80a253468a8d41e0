"""Finds JSON and printed Python values inside text, so that each is shaped as the value it is."""

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from gristmill.model import Json
from gristmill.shaping.text import python_literals as spelled

MIN_VALUE_CHARACTERS = 300
"""A value in the text with at least this many characters is shaped as a value."""
MAX_BLOCKS = 8
MAX_WASTED_CHARACTERS = 2_000_000
_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_decode = json.JSONDecoder().raw_decode


class OutputBlock(Struct, frozen=True, kw_only=True):
    """A stretch of the text: a JSON value, or lines."""

    text: str
    value: Json = None
    is_json: bool = False


def split_blocks(text: str) -> list[OutputBlock]:
    """Splits the text into lines and values; one block of lines if there are no large values, or too many."""
    blocks: list[OutputBlock] = []
    at = 0
    for start, end, value in _join_json_lines(text):
        if end - start < MIN_VALUE_CHARACTERS:
            continue
        if text[at:start].strip():
            blocks.append(OutputBlock(text=text[at:start].strip("\n")))
        blocks.append(OutputBlock(text=text[start:end], value=value, is_json=True))
        at = end
    if text[at:].strip():
        blocks.append(OutputBlock(text=text[at:].strip("\n")))
    return blocks if len(blocks) <= MAX_BLOCKS else [OutputBlock(text=text)]


def _join_json_lines(text: str) -> list[tuple[int, int, Json]]:
    """Returns the values with start and end; objects on lines that follow each other (JSON lines) become one list."""
    found: list[tuple[int, int, list[Json]]] = []
    for start, end, value in _find_values(text):
        last = found[-1] if found else None
        if last and isinstance(value, dict) and isinstance(last[2][-1], dict) and not text[last[1] : start].strip():
            last[2].append(value)
            found[-1] = (last[0], end, last[2])
        else:
            found.append((start, end, [value]))
    return [(start, end, values if len(values) > 1 else values[0]) for start, end, values in found]


def _find_values(text: str) -> Iterator[tuple[int, int, Json]]:
    at, in_vain = 0, 0
    # A try that fails may have read far, and hostile text makes every try fail: the characters read in vain are limited.
    while in_vain < MAX_WASTED_CHARACTERS and (found := _START.search(text, at)):
        start = found.end()
        try:
            value, end = _decode(text, start)
        except (ValueError, RecursionError) as error:
            in_vain += error.pos - start + 50 if isinstance(error, json.JSONDecodeError) else 10_000
            end = text.find("\n", start)
            end = end if end >= 0 else len(text)
            printed = _read_printed_value(text[start:end]) if end - start >= MIN_VALUE_CHARACTERS else None
            if printed is not None:
                yield found.start(), end, printed
            else:
                in_vain += end - start if end - start >= MIN_VALUE_CHARACTERS else 0
            at = end + 1
            continue
        closing = _LINE_END.match(text, end)
        if closing is None:
            at, in_vain = end, in_vain + end - start
            continue
        yield found.start(), end, value
        at = closing.end()


def _read_printed_value(line: str) -> Json:
    """Returns the value that Python printed as ``line``; None if it is not a value."""
    text = spelled.spell_as_json(line.rstrip())
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
