"""Translates a value that Python printed (``[{'id': 1, 'paid': True}]``) to JSON, so that it can be read as a value.

The text is translated piece by piece and never evaluated, because it comes from a guest.
"""

import json
import re

MAX_CHARACTERS = 1_000_000
_WORDS = {"True": "true", "False": "false", "None": "null", "nan": "null", "(": "[", ")": "]"}
# The closing quote may be missing: then the rest is taken as text and JSON refuses it. Searching for it from every quote would
# take quadratic time on hostile text; for the same reason nothing that was matched is given back (``*+``).
_PIECE = re.compile(
    r"""'((?:[^'\\]|\\.)*+)'?      # text in single quotes
    |   "((?:[^"\\]|\\.)*+)"?      # in double quotes, as Python does when the text holds a single one
    |   \b(?:True|False|None|nan)\b
    |   ,(?=\s*\))                 # the comma of a tuple of one
    |   [()]
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_SAME_IN_JSON = frozenset('bfnrtu"\\/')


def spell_as_json(line: str) -> str | None:
    """Returns ``line`` rewritten as JSON, unchecked; None if it is not a list, tuple or object, or is too long."""
    if len(line) > MAX_CHARACTERS or line[:1] not in ("[", "{", "(") or "'" not in line:
        return None
    return _PIECE.sub(_translate_piece, line)


def _translate_piece(found: re.Match[str]) -> str:
    single, double = found.groups()
    if single is None and double is None:
        return _WORDS.get(found.group(), "")
    text = (single if single is not None else double) or ""
    # Only a text that contains a backslash or a quote needs a closer look, and few do.
    return f'"{text}"' if "\\" not in text and '"' not in text else f'"{_translate_escapes(text)}"'


def _translate_escapes(text: str) -> str:
    return _ESCAPE.sub(_translate_escape, re.sub(r'(\\.)|"', lambda found: found.group(1) or '\\"', text, flags=re.DOTALL))


def _translate_escape(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] in "xU" and len(code) > 1:
        number = int(code[1:], 16)
        return json.dumps(chr(number))[1:-1] if number <= 0x10FFFF else ""
    return found.group() if code in _SAME_IN_JSON else "'" if code == "'" else f"\\\\{code}"
