"""Counts all tokens of a text with the tokenizer that the hall passes in; nothing is estimated."""

from collections.abc import Callable

Count = Callable[[str], int]
CHUNK_CHARACTERS = 2_000_000
"""Most characters that are given to the tokenizer at once."""


def count_tokens(text: str, count: Count) -> int:
    """Counts all tokens of ``text``. A text above two million characters is counted in chunks that end at a line or a space:
    each boundary between chunks may add one token too many."""
    tokens, at = 0, 0
    while at < len(text):
        end = _find_chunk_end(text, at)
        tokens += count(text[at:end])
        at = end
    return tokens


def _find_chunk_end(text: str, start: int) -> int:
    """Returns the end of the chunk: before a line's end or a space if one is near, because no token reaches across those."""
    end = start + CHUNK_CHARACTERS
    if end >= len(text):
        return len(text)
    near = max(text.rfind(mark, end - 1_000, end) for mark in ("\n", " "))
    return near if near > start else end
