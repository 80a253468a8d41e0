"""Finds the places where a number may be: runs of digits that are not part of a word, and text that begins like an IBAN.

A regular expression tries every digit of a text, and most texts are full of dates, identifiers and amounts. So each character is
first replaced by its class, one byte for each, and a search for a fixed text finds the few long runs. The pattern is tried only
there. The result is the same as that of the pattern alone.
"""

import re
from itertools import compress

Spans = list[tuple[int, int]]

DIGIT_SEPARATORS = r" .()/\-\u00a0\u2010-\u2013\u202f"
"""The characters that people write between the digits of one number, for use in a character class."""

NO_DATE = r"(?![0-9]{3}-[0-9]{2}-[0-9]{2}(?![0-9-]))"
"""A look-ahead that excludes dates; it belongs after the first character of a run."""


def _compile_run_pattern(glue: str) -> re.Pattern[str]:
    # The engine skips to the first character, so the pattern begins with it and checks the characters before it afterwards.
    # Dates are the most common runs and are skipped here.
    return re.compile(rf"[0-9+(](?<![0-9A-Za-z_].)(?<![0-9][-./].){NO_DATE}[0-9{glue}]{{7,}}")


RUN, _ASCII_RUN = _compile_run_pattern(DIGIT_SEPARATORS), _compile_run_pattern(r" .()/\-")


def _build_class_table(members: dict[str, bytes]) -> bytes:
    table = bytearray(b" " * 256)
    for characters, name in members.items():
        for character in characters:
            table[ord(character)] = name[0]
    return bytes(table)


_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# "?" stands for every character that has no byte of its own, among them separators from other alphabets.
_IN_RUN = _build_class_table({_DIGITS + "+ .()/-\u00a0?": b"#"})
_IN_WORD = _build_class_table({_DIGITS: b"1", _LETTERS: b"a", "_": b"_"})
_LEAST_LENGTH = 7
_LONG_RUN = re.compile(b"########" + b"#*")
_IBAN_START = re.compile(b" aa11")


def encode_characters(text: str) -> bytes:
    """Encodes the text with one byte per character, for the searches below."""
    return text.encode("latin-1", "replace")


def find_places(characters: bytes) -> Spans:
    """Finds start and end of every long enough sequence of digits and the characters between digits."""
    return [place.span() for place in _LONG_RUN.finditer(characters.translate(_IN_RUN))]


def find_runs(text: str, places: Spans) -> tuple[Spans, Spans]:
    """Finds start and end of every match of ``RUN`` at those places: first the runs of digits only, then the others.

    It does each step for all places before the next step: there may be very many, and that takes half the time."""
    search = (_ASCII_RUN if text.isascii() else RUN).search
    runs: Spans = []
    # No run extends beyond its place, so a search that ends there cuts nothing off.
    for (_, end), found in zip(places, [search(text, start, end) for start, end in places], strict=True):
        while found:
            runs.append(found.span())
            at = found.end()
            found = search(text, at, end) if end - at > _LEAST_LENGTH else None
    is_plain = [text[start:end].isdigit() for start, end in runs]
    return list(compress(runs, is_plain)), [run for run, skip in zip(runs, is_plain, strict=True) if not skip]


def find_iban_starts(characters: bytes) -> list[int]:
    """Finds where two letters begin a word and two digits follow, as in an IBAN."""
    words = characters.translate(_IN_WORD)
    first = [0] if words.startswith(b"aa11") else []
    return first + [found.start() + 1 for found in _IBAN_START.finditer(words)]
