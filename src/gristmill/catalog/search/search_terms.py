"""Turns text into search terms: splits identifiers, folds case and accents, cuts endings. Knows nothing of tools or ranking."""

import re
import unicodedata
from functools import lru_cache

MAX_CHARS = 20_000
"""Longer texts are read up to here, so that one hostile description cannot fill the index."""

_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\Wa-zA-Z\d_]+")
_UNSPACED = (("\u0e00", "\u0eff"), ("\u3040", "\u30ff"), ("\u3400", "\u9fff"))
"""Scripts written without spaces: two neighbouring characters count as a word. A pattern for them would take 5 ms to compile."""
_ENDINGS = (
    "ations", "ation", "ating", "ators", "ator", "ated", "ates", "ate", "ions", "ion", "ings", "ing", "ments", "ment",
    "ers", "ors", "er", "or", "ed", "ive", "al", "ly",
)  # fmt: skip
STOP_WORDS = frozenset((
    "a", "about", "also", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "did", "do",
    "does", "for", "from", "give", "has", "have", "how", "i", "if", "in", "into", "is", "it", "know", "let",
    "m", "me", "my", "need", "of", "on", "or", "our", "please", "s", "some", "tell", "that", "the", "this",
    "to", "us", "want", "was", "we", "were", "what", "which", "will", "with", "would", "you", "your",
))  # fmt: skip


def split_words(text: str) -> list[str]:
    """Returns the words of ``text`` in lower case; for ``getUserID2`` both the parts and the whole.

    Scripts without spaces give every pair of neighbouring characters.
    """
    found: list[str] = []
    for word in _WORD.findall(_fold_accents(text[:MAX_CHARS])):
        found.extend(_split_identifier(word))
    return found


def extract_terms(text: str) -> list[str]:
    """Returns the stems of all words that are not stop words."""
    return [stem_word(word) for word in split_words(text) if word not in STOP_WORDS]


@lru_cache(maxsize=65_536)
def stem_word(word: str) -> str:
    """Returns ``word`` without its English ending, so that *searches*, *searching* and *search* match.

    Measured against Snowball on the retrieval sets this is as good, and it needs no compiled library.
    """
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    word = _make_singular(word)
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and _has_vowel(word[: -len(ending)]):
            word = word[: -len(ending)]
            if word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 3 else word


def _make_singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _has_vowel(word: str) -> bool:
    return any(letter in "aeiouy" for letter in word)


@lru_cache(maxsize=65_536)
def _split_identifier(word: str) -> tuple[str, ...]:
    parts: list[str] = _PART.findall(word) or [word]
    if len(parts) > 1:
        parts.insert(0, word)
    return tuple(piece for part in parts for piece in _split_unspaced(part.lower()))


def _split_unspaced(word: str) -> list[str]:
    if len(word) > 1 and not word.isascii() and any(low <= letter <= high for letter in word for low, high in _UNSPACED):
        return [word[i : i + 2] for i in range(len(word) - 1)]
    return [word[:64]]  # no question has longer words; a blob of base64 would only fill the index


def _fold_accents(text: str) -> str:
    if text.isascii():
        return text
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", plain)
