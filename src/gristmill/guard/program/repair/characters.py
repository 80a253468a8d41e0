# ruff: noqa: RUF001 - the characters that look like others are what this file is about
"""Replaces characters that look like Python's own and are not: quotes of typesetters, wide punctuation, invisible characters."""

import html
import re
import unicodedata

from gristmill.guard.program.repair.string_states import replace_outside_strings

_INVISIBLE = dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), 0x00AD, 0xFEFF], "")
_SPACES = dict.fromkeys([0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_LINES = {0x2028: "\n", 0x2029: "\n", 0x0085: "\n"}
_OPERATORS = {
    0x2212: "-", 0x2013: "-", 0x2014: "-", 0x00D7: "*", 0x00F7: "/", 0x2264: "<=", 0x2265: ">=", 0x2260: "!=", 0x2192: "->",
    0x3001: ",", 0x3010: "[", 0x3011: "]", 0x2026: "...",
}  # fmt: skip
_WIDE = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFF01, 0xFF5F)}
_CURLY = re.compile("“([^“”\n]*)”|„([^„“”\n]*)[“”]|«([^«»\n]*)»|‘([^‘’\n]*)’|[“”„]([^“”„\n]*)[“”„]|`([^`\n]*)´")
_SINGLE = {0x201C: '"', 0x201D: '"', 0x201E: '"', 0x2018: "'", 0x2019: "'", 0x201A: "'", 0x2032: "'", 0x2033: '"', 0x00B4: "'"}


def remove_invisible(text: str) -> str | None:
    """Returns the text with ordinary spaces and line ends, and without invisible characters; strings stay as they are."""
    changed = replace_outside_strings(text, lambda part: part.translate({**_INVISIBLE, **_SPACES, **_LINES}))
    return changed if changed != text else None


def narrow_punctuation(text: str) -> str | None:
    """Returns the text with Python's own brackets and operators instead of wide or typographic ones; strings stay as they are."""
    changed = replace_outside_strings(text, lambda part: part.translate({**_WIDE, **_OPERATORS}))
    return changed if changed != text else None


def decode_entities(text: str) -> str | None:
    """Returns the text with ``<`` for ``&lt;`` and the like; strings stay as they are."""
    changed = replace_outside_strings(text, html.unescape) if "&" in text and ";" in text else text
    return changed if changed != text else None


def straighten_quotes(text: str) -> str | None:
    """Returns the text with straight quotes around its strings; quotes inside of complete strings stay as they are."""
    changed = replace_outside_strings(text, _straighten)
    return changed if changed != text else None


def _straighten(part: str) -> str:
    quoted = _CURLY.sub(lambda found: _quote(next((each for each in found.groups() if each is not None), "")), part)
    return quoted.translate(_SINGLE)


def _quote(content: str) -> str:
    mark = "'" if '"' in content and "'" not in content else '"'
    return mark + content.replace(mark, "\\" + mark) + mark
