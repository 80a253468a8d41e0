"""Tokens of a text by the tokenizer that the hall passes in: all of them, never a guess."""

from collections.abc import Callable

from gristmill.values import dataclass

Count = Callable[[str], int]
CHUNK = 2_000_000
"""Characters that are given to the tokenizer at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Tokens, and the number of chunks they were counted in: each seam may add one token to the true number."""

    tokens: int
    chunks: int


def count_tokens(text: str, count: Count) -> Counted:
    """All tokens of ``text``. One above two million characters is counted in chunks that end at a line or a space."""
    tokens, chunks, at = 0, 0, 0
    while at < len(text):
        end = _seam(text, at)
        tokens += count(text[at:end])
        chunks, at = chunks + 1, end
    return Counted(tokens=tokens, chunks=chunks)


def _seam(text: str, start: int) -> int:
    """The end of the chunk: before a line's end or a space if there is one near, as no token reaches across such a place."""
    end = start + CHUNK
    if end >= len(text):
        return len(text)
    near = max(text.rfind(mark, end - 1_000, end) for mark in ("\n", " "))
    return near if near > start else end
