"""The form of placeholders, and the search for them in a text."""

import re
from collections.abc import Iterator

PLACEHOLDER_LETTERS = 10

PLACEHOLDER = re.compile(
    rf"(<|%3C|&lt;|\\u003c)([A-Z][A-Z0-9_]{{0,40}}_[A-Z]{{{PLACEHOLDER_LETTERS}}})(>|%3E|&gt;|\\u003e)", re.IGNORECASE
)
"""A placeholder as created, or as a program may have changed it: quoted for a URL, HTML or JSON, or in another case."""

EXACT_PLACEHOLDER = re.compile(rf"<[A-Z][A-Z0-9_]{{0,40}}_[a-z]{{{PLACEHOLDER_LETTERS}}}>")
"""A placeholder exactly as created."""

_END = re.compile(rf"_[A-Za-z]{{{PLACEHOLDER_LETTERS}}}(?:>|%3[Ee]|&[Gg][Tt];|\\[Uu]003[Ee])")
_LONGEST_BEFORE = 47
"""The most characters of a placeholder before its last underscore."""


def find_placeholders(text: str) -> Iterator[re.Match[str]]:
    """Yields all matches of ``PLACEHOLDER``, but faster: it first looks for the end of a placeholder, which most texts lack."""
    if not text.isascii():
        yield from PLACEHOLDER.finditer(text)  # some letters of other alphabets match ASCII letters when case is ignored
        return
    read_to = 0
    for end in _END.finditer(text):
        # A placeholder contains nothing that looks like its beginning, so two never overlap, and most begin at the last "<".
        first, last = max(read_to, end.start() - _LONGEST_BEFORE), end.end()
        start = text.rfind("<", first, last)
        match = (PLACEHOLDER.match(text, start, last) if start >= 0 else None) or PLACEHOLDER.search(text, first, last)
        read_to = last
        if match:
            yield match
