"""Decides whether a text fits a token budget, in the cheapest way that is certain; loads the tokenizer only when needed."""

from gristmill.shaping.token_counter import load_token_counter

LONGEST_TOKEN = 128
"""Characters of the longest token of o200k (a run of spaces): a text with more characters per token cannot fit."""
EXACT_CHARACTERS = 300_000
"""Up to this length every token of a left-out text is counted (about 10 ms); above it only chunks are."""
CHUNKS, CHUNK = 16, 8_192


def surely_fits(text: str, tokens: int) -> bool:
    """Returns whether the length alone shows that it fits: a token is at least one byte, a character at most four."""
    size = len(text)
    if size > tokens:
        return False
    return size * 4 <= tokens or text.isascii() or len(text.encode(errors="replace")) <= tokens


def fits_tokens(text: str, tokens: int) -> bool:
    """Returns whether ``text`` costs at most ``tokens``."""
    return surely_fits(text, tokens) or (len(text) <= tokens * LONGEST_TOKEN and count_tokens(text) <= tokens)


def count_tokens(text: str) -> int:
    """Counts the tokens of ``text`` by o200k; without its wheel returns an estimate that is too high except for random bytes."""
    counter = load_token_counter()
    return counter(text) if counter else (len(text.encode(errors="replace")) * 2 + 2) // 3


def estimate_tokens(text: str) -> int:
    """Counts the tokens of ``text``; estimates a long one from evenly spaced chunks."""
    if len(text) <= EXACT_CHARACTERS:
        return count_tokens(text)
    step = (len(text) - CHUNK) // (CHUNKS - 1)
    counted = sum(count_tokens(text[index * step : index * step + CHUNK]) for index in range(CHUNKS))
    return counted * len(text) // (CHUNKS * CHUNK)
