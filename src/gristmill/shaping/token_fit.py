"""Whether a text fits, asked in the cheapest way that is sure; the tokenizer is loaded only when it is needed."""

from gristmill.shaping.token_counter import token_counter

LONGEST_TOKEN = 128
"""Characters of the longest token of o200k (a run of spaces): a text of more per token cannot fit."""
EXACT_CHARACTERS = 300_000
"""Up to here every token of a text that was left out is counted, about 10 ms; past it chunks are."""
CHUNKS, CHUNK = 16, 8_192


def surely_fits(text: str, tokens: int) -> bool:
    """Whether the length alone says so: a token is at least one byte, a character at most four."""
    size = len(text)
    if size > tokens:
        return False
    return size * 4 <= tokens or text.isascii() or len(text.encode(errors="replace")) <= tokens


def fits(text: str, tokens: int) -> bool:
    """Whether ``text`` costs at most ``tokens``."""
    return surely_fits(text, tokens) or (len(text) <= tokens * LONGEST_TOKEN and count(text) <= tokens)


def count(text: str) -> int:
    """Tokens of ``text`` by o200k; where that has no wheel, a count that is too high for all but random bytes."""
    counter = token_counter()
    return counter(text) if counter else (len(text.encode(errors="replace")) * 2 + 2) // 3


def count_about(text: str) -> int:
    """Tokens of ``text``; of a long one by evenly spaced chunks of it."""
    if len(text) <= EXACT_CHARACTERS:
        return count(text)
    step = (len(text) - CHUNK) // (CHUNKS - 1)
    counted = sum(count(text[index * step : index * step + CHUNK]) for index in range(CHUNKS))
    return counted * len(text) // (CHUNKS * CHUNK)
