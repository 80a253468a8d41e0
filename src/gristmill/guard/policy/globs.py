"""Compiles the patterns of policy rules and of the operator ``like``: ``*`` is any text and ``?`` is one character."""

import re
from fnmatch import translate
from functools import lru_cache


@lru_cache(256)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern in which ``*`` is any text, ``?`` is one character, and every other character is itself."""
    # The standard library's translation does not backtrack. It would read a bracket as a set of characters.
    return re.compile(translate(pattern.replace("[", "[[]")))
