"""Short handles of sessions, for the one user on stdio: a model writes the handle in every request, and a UUID is 23 tokens.

A short handle says how the handle begins, in letters alone: digits could be taken for a number. Where several users send requests
the whole handle is needed, because a short one can be guessed.
"""

import re

DIGITS = 8
_HEX, _LETTERS = "0123456789abcdef", "abcdefghijklmnop"
_BEGINNING = re.compile(rf"[{_HEX}]{{{DIGITS}}}")
_SHORT = re.compile(rf"[{_LETTERS}]{{{DIGITS}}}")
_TO_LETTERS, _TO_HEX = str.maketrans(_HEX, _LETTERS), str.maketrans(_LETTERS, _HEX)


def shorten_handle(handle: str) -> str:
    """Returns the short form of a handle; the handle itself if it does not begin like a UUID."""
    found = _BEGINNING.match(handle)
    return found[0].translate(_TO_LETTERS) if found else handle


def read_short_handle(text: str) -> str | None:
    """Returns how the handle begins that ``text`` is the short form of; None if it is not a short form."""
    return text.translate(_TO_HEX) if _SHORT.fullmatch(text) else None
