"""Decodes a program whose line ends and quotes were written as escapes, as some models do in JSON."""

import re

from gristmill.guard.program.repair.string_states import replace_outside_strings

_ESCAPE = re.compile(r"\\(n|r|t|\"|'|\\)")
_DECODED = {"n": "\n", "r": "", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


def decode_outside_strings(text: str) -> str | None:
    """Returns the text with escapes decoded where no string is; escapes inside of strings stay as they are."""
    if "\\" not in text:
        return None
    return replace_outside_strings(text, _decode)


def decode_everywhere(text: str) -> str | None:
    """Returns the text with every escape decoded once, as a JSON string is."""
    return _decode(text) if "\\" in text else None


def _decode(part: str) -> str:
    return _ESCAPE.sub(lambda found: _DECODED[found[1]], part)
