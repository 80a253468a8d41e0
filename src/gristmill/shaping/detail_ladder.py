"""The ladder of detail from rich to poor, and the search for the richest step that fits."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

STEPS = 40

Step = TypeVar("Step")
Made = TypeVar("Made")


class DetailStep(Struct, frozen=True, kw_only=True):
    """One step of the ladder: how many rows, columns, keys and characters are shown at the outermost level."""

    rows: int
    columns: int
    keys: int
    text: int
    depth: int
    statistics: bool

    def inner_step(self) -> "DetailStep":
        """Returns the detail for one level further in."""
        return replace(
            self,
            rows=max(2, self.rows // 3),
            columns=max(1, self.columns // 2),
            keys=max(2, self.keys // 2),
            text=max(16, self.text // 2),
            depth=self.depth - 1,
        )


@cache
def build_ladder(tokens: int) -> tuple[DetailStep, ...]:
    """Returns the steps for a budget, rich to poor. Rows shrink first, columns last: a column's name says more than a row."""
    return tuple(_build_step(tokens, tokens * 0.8**index, 0.9**index) for index in range(STEPS))


def _build_step(tokens: int, worth: float, slow: float) -> DetailStep:
    return DetailStep(
        rows=max(2, int(worth / 6)),
        columns=max(1, int(tokens * slow / 12)),
        keys=max(2, int(worth / 4)),
        text=max(16, int(worth * 4)),
        depth=8 if worth > 400 else 5 if worth > 100 else 3 if worth > 20 else 1,
        statistics=worth > 8,
    )


def find_richest(steps: Sequence[Step], make: Callable[[Step], Made], is_good: Callable[[Made], bool]) -> Made | None:
    """Finds the richest good step by bisection and returns what it makes; None if no step that was tried is good."""
    best: Made | None = None
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        made = make(steps[middle])
        if is_good(made):
            best, high = made, middle
        else:
            low = middle + 1
    return best
