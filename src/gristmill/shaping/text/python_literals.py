"""A value that Python printed (``[{'id': 1, 'paid': True}]``) spelled as JSON, so that it can be read as a value.

The text is translated piece by piece and never evaluated: it comes from a guest.
"""

import json
import re

LONGEST = 1_000_000
_WORDS = {"True": "true", "False": "false", "None": "null", "nan": "null", "(": "[", ")": "]"}
# The closing quote may be missing: then the rest is taken as text and JSON refuses it. To look for it in vain from every quote on
# would take hostile text quadratic time; for the same reason nothing that was taken is given back (``*+``).
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
_SAME = frozenset('bfnrtu"\\/')


def spelled_as_json(line: str) -> str | None:
    """``line`` as JSON may read it; nothing when it is no list, tuple or object, or too long to look at."""
    if len(line) > LONGEST or line[:1] not in ("[", "{", "(") or "'" not in line:
        return None
    return _PIECE.sub(_piece, line)


def _piece(found: re.Match[str]) -> str:
    single, double = found.groups()
    if single is None and double is None:
        return _WORDS.get(found.group(), "")
    text = (single if single is not None else double) or ""
    # Only a text with a backslash or a quote in it needs a closer look, and few have one.
    return f'"{text}"' if "\\" not in text and '"' not in text else f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return _ESCAPE.sub(_escape, re.sub(r'(\\.)|"', lambda found: found.group(1) or '\\"', text, flags=re.DOTALL))


def _escape(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] in "xU" and len(code) > 1:
        number = int(code[1:], 16)
        return json.dumps(chr(number))[1:-1] if number <= 0x10FFFF else ""
    return found.group() if code in _SAME else "'" if code == "'" else f"\\\\{code}"
