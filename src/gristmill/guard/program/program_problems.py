"""One thing that is wrong with a program, where, and what to write instead; and the refusal that lists them all."""

import difflib
from collections.abc import Iterable, Sequence

from gristmill.errors import CodeRefused
from gristmill.values import dataclass

MOST_NAMES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """``certain`` when no run of the program can go well; otherwise advice."""

    line: int
    column: int
    message: str
    fix: str
    certain: bool

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}; {self.fix}"


def refusal(problems: Sequence[Problem], *, rule: str = "code.check") -> CodeRefused | None:
    """The error for code that should not run, with every problem; None when all of them are advice."""
    if not any(problem.certain for problem in problems):
        return None
    lines = [f"{problem}" if problem.certain else f"{problem} (perhaps)" for problem in problems]
    return CodeRefused("\n".join(["nothing was run:", *lines]), rule=rule)


def near(name: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant."""
    # Of names that differ only in separators the one without a leading underscore is meant, whatever their order.
    plain = {_plain(each): each for each in sorted(known, key=lambda each: (not each.startswith("_"), each))}
    found = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def listing(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    more = f" and {len(every) - MOST_NAMES} more" if len(every) > MOST_NAMES else ""
    return (", ".join(every[:MOST_NAMES]) or "nothing") + more


def _plain(name: str) -> str:
    """Without case and separators, which is where most misspellings are."""
    return "".join(letter for letter in name[:100].lower() if letter.isalnum())
