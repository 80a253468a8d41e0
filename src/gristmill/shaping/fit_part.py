"""One part of a report brought within its tokens, what is said about the rest included."""

from collections.abc import Callable

from gristmill.model import Json, LeftOut
from gristmill.shaping.spill import Kept, Part, cost, shortened
from gristmill.shaping.token_fit import EXACT_CHARACTERS, count, count_about
from gristmill.values import dataclass

HANDLE_TOKENS = 70
"""A first guess at what the line about the rest costs."""
TRIES = 4
MARGIN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A part made short: as a value, as the text that is counted, and the line that looks at more."""

    value: Json
    text: str
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part as it goes back, and what did not."""

    value: Json
    left: LeftOut | None = None


Make = Callable[[int], Made]
"""Makes the part short enough for so many tokens, or as short as it can."""


def fit(part: Part, whole: str, kept: Kept, tokens: int, make: Make) -> Piece:
    """``make`` with the room that is left once the rest is named; without the suggestion if there is no room for it."""
    total = count_about(whole)

    def named(made: Made) -> LeftOut:
        tokens = max(1, total - count(made.text))
        # A count by chunks is good to a thousand or so, and should not look better than it is.
        return LeftOut(
            part=part, path=kept.path, tokens=round(tokens, -3) if len(whole) > EXACT_CHARACTERS else tokens, how=made.how
        )

    room = max(1, tokens - HANDLE_TOKENS)
    for _ in range(TRIES):
        made = make(room)
        left = named(made)
        if count(made.text) + cost(left) <= tokens:
            return Piece(value=made.value, left=left)
        # The next one names another place, by a few digits more perhaps; what it may cost is known but for those.
        room = max(1, min(room - 1, tokens - cost(left) - MARGIN))
    made = make(1)
    left = named(made)
    return Piece(value=made.value, left=left if count(made.text) + cost(left) <= tokens else shortened(left))
