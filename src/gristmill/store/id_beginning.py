"""Recognises the beginning of an id that a person typed or copied in part."""

import re

FEWEST_CHARACTERS = 4
"""How much of an id, beyond its prefix, is needed at least."""
AFTER_DIGITS = "g"
"""Sorts after every hexadecimal digit, in every collation: all ids that begin so lie between a beginning and this."""
_REST = re.compile(rf"[0-9a-f]{{{FEWEST_CHARACTERS},32}}")


def is_beginning(text: str, prefix: str = "") -> bool:
    """Returns whether ``text`` can be the beginning of an id: ``prefix``, then some of its hexadecimal digits."""
    return text.startswith(prefix) and _REST.fullmatch(text[len(prefix) :]) is not None
