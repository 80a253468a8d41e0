"""What a placeholder looks like, and where there are some in a text."""

import re
from collections.abc import Iterator

LETTERS = 10

PLACEHOLDER = re.compile(rf"(<|%3C|&lt;|\\u003c)([A-Z][A-Z0-9_]{{0,40}}_[A-Z]{{{LETTERS}}})(>|%3E|&gt;|\\u003e)", re.IGNORECASE)
"""A placeholder as it was given out, or as code may have quoted it for a URL, HTML or JSON, or changed its case."""

MASK = re.compile(rf"<[A-Z][A-Z0-9_]{{0,40}}_[a-z]{{{LETTERS}}}>")
"""A placeholder as it is given out."""

_END = re.compile(rf"_[A-Za-z]{{{LETTERS}}}(?:>|%3[Ee]|&[Gg][Tt];|\\[Uu]003[Ee])")
_LONGEST_BEFORE = 47
"""Characters of a placeholder before its last underscore, at most."""


def placeholders_in(text: str) -> Iterator[re.Match[str]]:
    """All that ``PLACEHOLDER`` finds, sooner: most texts have none, and every one has an end, which is quick to look for."""
    if not text.isascii():
        yield from PLACEHOLDER.finditer(text)  # letters of other alphabets whose capitals are ours
        return
    read_to = 0
    for end in _END.finditer(text):
        # Nothing in a placeholder looks like its beginning, so two never overlap, and most begin at the last "<".
        first, last = max(read_to, end.start() - _LONGEST_BEFORE), end.end()
        start = text.rfind("<", first, last)
        match = (PLACEHOLDER.match(text, start, last) if start >= 0 else None) or PLACEHOLDER.search(text, first, last)
        read_to = last
        if match:
            yield match
