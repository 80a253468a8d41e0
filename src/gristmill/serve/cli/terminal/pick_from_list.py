"""Parses the user's choice from a numbered list."""

from collections.abc import Sequence


def pick_names(said: str, known: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of ``known`` that ``said`` picks: numbers (from 1), ranges, names, `all` or `none`.

    Raises:
        ValueError: ``said`` holds a word that is not in the list; the message says what is allowed.
    """
    found: list[str] = []
    for word in said.replace(",", " ").split():
        if word == "none":
            continue
        if word == "all":
            found += known
        elif word in known:
            found.append(word)
        else:
            found += (known[number - 1] for number in _read_range(word, len(known)))
    return tuple(dict.fromkeys(found))


def _read_range(word: str, most: int) -> range:
    first, _, last = word.partition("-")
    try:
        numbers = range(int(first), int(last or first) + 1)
    except ValueError:
        raise ValueError(f"{word!r} is not in the list: type numbers or names from it") from None
    if not numbers or numbers[0] < 1 or numbers[-1] > most:
        raise ValueError(f"{word!r}: type numbers from 1 to {most}")
    return numbers
