"""Where a number may stand: runs of digits that are no part of a word, and what begins like an IBAN.

A regular expression tries every digit of a text, and most texts are full of dates, identifiers and amounts. So each character is
first written as its class, one byte for each, in which the few long runs are found by a plain search for a fixed text. Only
there a pattern is tried. What is found is what the pattern alone would find.
"""

import re
from itertools import compress

Spans = list[tuple[int, int]]

GLUE = r" .()/\-\u00a0\u2010-\u2013\u202f"
"""What people write between the digits of one number; for the brackets of a pattern."""

NO_DATE = r"(?![0-9]{3}-[0-9]{2}-[0-9]{2}(?![0-9-]))"
"""After the first character of a run."""


def _run(glue: str) -> re.Pattern[str]:
    # The first character carries the search (the engine skips to it), so what stands before it is checked after it.
    # Dates are the commonest runs of all and are passed over here.
    return re.compile(rf"[0-9+(](?<![0-9A-Za-z_].)(?<![0-9][-./].){NO_DATE}[0-9{glue}]{{7,}}")


RUN, _ASCII_RUN = _run(GLUE), _run(r" .()/\-")


def _classes(members: dict[str, bytes]) -> bytes:
    table = bytearray(b" " * 256)
    for characters, name in members.items():
        for character in characters:
            table[ord(character)] = name[0]
    return bytes(table)


_DIGITS = "0123456789"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# "?" stands for whatever has no byte of its own, glue of other alphabets among it.
_IN_RUN = _classes({_DIGITS + "+ .()/-\u00a0?": b"#"})
_IN_WORD = _classes({_DIGITS: b"1", _LETTERS: b"a", "_": b"_"})
_LEAST = 7
_LONG = re.compile(b"########" + b"#*")
_COUNTRY = re.compile(b" aa11")


def classed(text: str) -> bytes:
    """One byte per character, for the searches below."""
    return text.encode("latin-1", "replace")


def find_places(characters: bytes) -> Spans:
    """Start and end of all that is long enough and of the class of digits and what stands between them."""
    return [place.span() for place in _LONG.finditer(characters.translate(_IN_RUN))]


def find_runs(text: str, places: Spans) -> tuple[Spans, Spans]:
    """Start and end of all that ``RUN`` finds at those places: those of nothing but digits, and the others.

    Step by step for all of them: there may be very many, and the processor does one thing a thousand times in half the time of
    a thousand things in turn."""
    search = (_ASCII_RUN if text.isascii() else RUN).search
    runs: Spans = []
    # No run goes on beyond its class, so nothing is cut off by reading no further.
    for (_, end), found in zip(places, [search(text, start, end) for start, end in places], strict=True):
        while found:
            runs.append(found.span())
            at = found.end()
            found = search(text, at, end) if end - at > _LEAST else None
    is_plain = [text[start:end].isdigit() for start, end in runs]
    return list(compress(runs, is_plain)), [run for run, skip in zip(runs, is_plain, strict=True) if not skip]


def find_countries(characters: bytes) -> list[int]:
    """Where two letters begin a word and two digits follow."""
    words = characters.translate(_IN_WORD)
    first = [0] if words.startswith(b"aa11") else []
    return first + [found.start() + 1 for found in _COUNTRY.finditer(words)]
