"""A person's choice from a numbered list."""

from collections.abc import Sequence


def chosen(said: str, known: Sequence[str]) -> tuple[str, ...]:
    """The names that ``said`` picks from ``known``: numbers (from 1), ranges, names, `all` or `none`.

    Raises:
        ValueError: something that is not in the list; says what would be.
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
            found += (known[number - 1] for number in _numbers(word, len(known)))
    return tuple(dict.fromkeys(found))


def _numbers(word: str, most: int) -> range:
    first, _, last = word.partition("-")
    try:
        numbers = range(int(first), int(last or first) + 1)
    except ValueError:
        raise ValueError(f"{word!r} is neither a number nor a name of the list") from None
    if not numbers or numbers[0] < 1 or numbers[-1] > most:
        raise ValueError(f"{word!r}: the numbers go from 1 to {most}")
    return numbers
