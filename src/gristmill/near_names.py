"""Names close to one that does not exist, by shared letter triples: cheap for thousands of names, fair to any typo."""

from collections.abc import Iterable

SHOWN = 3
_ENOUGH = 0.35
_MAX_CHARS = 120


def near_names(asked: str, known: Iterable[str]) -> tuple[str, ...]:
    """Up to three of ``known`` that look like ``asked``, closest first."""
    wanted = _triples(asked)
    rated = ((_overlap(wanted, _triples(name)), name) for name in known)
    close = sorted((-share, name) for share, name in rated if share >= _ENOUGH)
    return tuple(name for _, name in close[:SHOWN])


def _triples(name: str) -> frozenset[str]:
    letters = "".join(letter for letter in name[:_MAX_CHARS].lower() if letter.isalnum())
    padded = f"^{letters}$"
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    total = len(one) + len(other)
    return 2 * len(one & other) / total if total else 0.0
