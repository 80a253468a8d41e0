"""Finds names similar to one that does not exist."""

import difflib
from collections.abc import Iterable

MAX_NEAR_NAMES = 3
_MIN_OVERLAP = 0.35
_MAX_CHARS = 120
MOST_LETTERS_OFF = 2


def find_near_names(asked: str, known: Iterable[str]) -> tuple[str, ...]:
    """Returns up to three names of ``known`` that look like ``asked``, most similar first.

    Names are compared by the letter triples that they share: fast for thousands of names.
    """
    wanted = _split_triples(asked)
    rated = ((_measure_overlap(wanted, _split_triples(name)), name) for name in known)
    close = sorted((-share, name) for share, name in rated if share >= _MIN_OVERLAP)
    return tuple(name for _, name in close[:MAX_NEAR_NAMES])


def find_near_name(asked: str, known: Iterable[str]) -> str | None:
    """Returns the known name that is most similar to ``asked``, if any is similar enough; for a few names, with any typo."""
    # Of names that differ only in separators, the one without a leading underscore wins, in whichever order they come.
    plain = {_keep_letters(name): name for name in sorted(known, key=lambda name: (not name.startswith("_"), name))}
    found = difflib.get_close_matches(_keep_letters(asked), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def find_misspelt_name(asked: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Returns the known name that ``asked`` is a misspelling of: similar, and of about the same length (``git`` is no misspelling
    of ``github``)."""
    meant = find_near_name(asked, known)
    if meant is None or abs(len(meant) - len(asked)) > MOST_LETTERS_OFF:
        return None
    return meant if difflib.SequenceMatcher(None, asked.lower(), meant.lower()).ratio() >= likeness else None


def _keep_letters(name: str) -> str:
    """Removes case and separators, where most misspellings are: ``userId`` and ``user-id`` become equal."""
    return "".join(letter for letter in name[:_MAX_CHARS].lower() if letter.isalnum())


def _split_triples(name: str) -> frozenset[str]:
    padded = f"^{_keep_letters(name)}$"
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def _measure_overlap(one: frozenset[str], other: frozenset[str]) -> float:
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0
