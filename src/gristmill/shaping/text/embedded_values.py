"""JSON and Python's own spelling of values inside printed text, so that each is shaped as the value it is."""

import json
import re
from collections.abc import Iterator

from gristmill.model import Json
from gristmill.shaping.text import python_literals as spelled
from gristmill.values import dataclass

WORTH = 300
"""Characters from which on a value in the text is shaped as a value."""
MOST_BLOCKS = 8
MOST_IN_VAIN = 2_000_000
_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_LINE_END = re.compile(r"[ \t]*(?:\n|\Z)")
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A stretch of the text: a JSON value, or lines."""

    text: str
    value: Json = None
    is_json: bool = False


def blocks_of(text: str) -> list[Block]:
    """The text as lines and values; one block of lines where there are no large values, or too many."""
    blocks: list[Block] = []
    at = 0
    for start, end, value in _joined(text):
        if end - start < WORTH:
            continue
        if text[at:start].strip():
            blocks.append(Block(text=text[at:start].strip("\n")))
        blocks.append(Block(text=text[start:end], value=value, is_json=True))
        at = end
    if text[at:].strip():
        blocks.append(Block(text=text[at:].strip("\n")))
    return blocks if len(blocks) <= MOST_BLOCKS else [Block(text=text)]


def _joined(text: str) -> list[tuple[int, int, Json]]:
    """The values with start and end; objects on lines that follow each other (JSON lines) are one list."""
    found: list[tuple[int, int, list[Json]]] = []
    for start, end, value in _values(text):
        last = found[-1] if found else None
        if last and isinstance(value, dict) and isinstance(last[2][-1], dict) and not text[last[1] : start].strip():
            last[2].append(value)
            found[-1] = (last[0], end, last[2])
        else:
            found.append((start, end, [value]))
    return [(start, end, values if len(values) > 1 else values[0]) for start, end, values in found]


def _values(text: str) -> Iterator[tuple[int, int, Json]]:
    at, in_vain = 0, 0
    # A try that fails may have read far, and hostile text makes all of them fail: what was read in vain is bounded.
    while in_vain < MOST_IN_VAIN and (found := _START.search(text, at)):
        start = found.end()
        try:
            value, end = _decode(text, start)
        except (ValueError, RecursionError) as error:
            in_vain += error.pos - start + 50 if isinstance(error, json.JSONDecodeError) else 10_000
            end = text.find("\n", start)
            end = end if end >= 0 else len(text)
            printed = _printed(text[start:end]) if end - start >= WORTH else None
            if printed is not None:
                yield found.start(), end, printed
            else:
                in_vain += end - start if end - start >= WORTH else 0
            at = end + 1
            continue
        closing = _LINE_END.match(text, end)
        if closing is None:
            at, in_vain = end, in_vain + end - start
            continue
        yield found.start(), end, value
        at = closing.end()


def _printed(line: str) -> Json:
    """The value that Python printed as ``line``; nothing when it is none."""
    text = spelled.spelled_as_json(line.rstrip())
    if text is None:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
