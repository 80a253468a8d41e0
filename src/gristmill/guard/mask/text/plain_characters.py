"""Finds characters that are written in another form, and says which plain character each one stands for.

Such forms are escapes (``\\u0040``, ``%40``, ``&#64;``), characters of other alphabets that look like ASCII characters
(full-width digits, other dashes and spaces), and characters that are invisible.
"""

import html
import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote

from msgspec import Struct

_HEX = "[0-9A-Fa-f]"
# A run of backslashes counts as one: JSON inside of JSON doubles them. Nothing here is tried twice at the same backslash.
_ESCAPES = rf"""
    (?<!\\)\\++(?:u[dD][89abAB]{_HEX}{{2}}\\++u[dD][c-fC-F]{_HEX}{{2}}
        |u{_HEX}{{4}}|u\{{{_HEX}{{1,6}}\}}|x{_HEX}{{2}}|U{_HEX}{{8}}|[bfnrt])
   |%(?:25){{0,3}}[2-7]{_HEX}|(?:%[89A-Fa-f]{_HEX}){{1,4}}
   |&\#?[0-9A-Za-z]{{2,31}};
    """
_QUERY = r"[?&][\w.\[\]%-]{1,40}+=[^\s&\#\"'<>+]{0,40}+\+"
_PLUS = r"(?<=[0-9A-Za-z])\+(?=[0-9A-Za-z])"
_QUERY_BEFORE = re.compile(r"[?&][\w.\[\]%-]{1,40}=[^\s&#\"'<>]{0,40}\Z")
_LONGEST_BEFORE = 82
_CODE = re.compile(r"\\+[uUx]\{?([0-9A-Fa-f]+)")
_CONTROL_LETTERS = {"b": " ", "f": " ", "n": "\n", "r": "\n", "t": "\t"}
_DEEPEST = 4
"""How often a text that is quoted for a URL may be quoted again."""
_FULL_STOPS = frozenset("\u3002\uff61")
_INVISIBLE_MARKS = re.compile("[\u0300-\u036f\ufe00-\ufe0f\U000e0100-\U000e01ef]")


class CharacterPatterns(Struct, frozen=True):
    """Two patterns for one text: where decoding can reveal something, and what is then decoded."""

    reason: re.Pattern[str]
    unit: re.Pattern[str]


def choose_patterns(text: str) -> CharacterPatterns | None:
    """Returns the patterns for ``text``; None if all of its characters are plain. It reads a plain text very quickly."""
    odd = "" if text.isascii() else "".join(sorted(each for each in set(text) if fold_character(each) is not None))
    if odd or "\\" in text or "%" in text or "&" in text or ("+" in text and "?" in text):
        return _compile_patterns(odd)
    return None


@lru_cache(64)
def _compile_patterns(odd: str) -> CharacterPatterns:
    if not odd:
        return CharacterPatterns(re.compile(f"{_ESCAPES}|{_QUERY}", re.VERBOSE), re.compile(f"{_ESCAPES}|{_PLUS}", re.VERBOSE))
    letters = [each for each in odd if (fold_character(each) or " ")[0].isalnum() or fold_character(each) == "@"]
    invisible = [each for each in odd if not fold_character(each)]
    marks = [each for each in odd if each not in letters and each not in invisible]
    # A dash or an invisible character in prose hides nothing: only one next to plain letters or digits can.
    reasons = [_ESCAPES, _QUERY]
    reasons += [f"[{_escape_class(letters)}]"] if letters else []
    reasons += [rf"(?<=[!-~])[{_escape_class(invisible)}]|[{_escape_class(invisible)}](?=[!-~])"] if invisible else []
    reasons += [rf"(?<=[0-9A-Za-z)])[{_escape_class(marks)}](?=[0-9A-Za-z(])"] if marks else []
    return CharacterPatterns(
        re.compile("|".join(reasons), re.VERBOSE), re.compile(rf"{_ESCAPES}|{_PLUS}|[{_escape_class(list(odd))}]", re.VERBOSE)
    )


def _escape_class(characters: list[str]) -> str:
    return "".join(f"\\U{ord(each):08x}" for each in characters)


def decode_unit(match: re.Match[str]) -> str:
    """Returns the plain characters for a match of ``CharacterPatterns.unit``."""
    if match[0] != "+":
        return _decode_text(match[0])
    start = match.start()
    return " " if _QUERY_BEFORE.search(match.string, max(0, start - _LONGEST_BEFORE), start) else "+"


@lru_cache(4_096)
def _decode_text(text: str) -> str:
    if text[0] == "\\":
        text = _decode_backslashes(text)
    elif text[0] == "%":
        for _ in range(_DEEPEST):
            text = unquote(text)
    elif text[0] == "&":
        text = html.unescape(text)
    # A zero byte means a gap in the search, so none may arise here.
    return "".join(each if (plain := fold_character(each)) is None else plain for each in text).replace("\0", "\ufffd")


def _decode_backslashes(text: str) -> str:
    codes = [int(code, 16) for code in _CODE.findall(text)]
    if not codes:
        return _CONTROL_LETTERS[text[-1]]
    if len(codes) == 2:  # the two halves of one character
        return chr(0x10000 + (codes[0] - 0xD800) * 0x400 + codes[1] - 0xDC00)
    return chr(codes[0]) if codes[0] < 0x110000 and not 0xD800 <= codes[0] < 0xE000 else "\ufffd"


@lru_cache(8_192)
def fold_character(character: str) -> str | None:
    """Returns the ASCII text for which a character stands, empty if it is invisible; None if it stands for itself."""
    if character.isascii():
        return None
    category = unicodedata.category(character)
    if category == "Cf" or _INVISIBLE_MARKS.match(character):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category in ("Pd", "Zs") or character in _FULL_STOPS:
        return "-" if category == "Pd" else " " if category == "Zs" else "."
    plain = unicodedata.normalize("NFKC", character)
    return plain if plain.isascii() else None
