"""Fits one part of a report into its token budget, including the note about what was left out."""

from collections.abc import Callable

from msgspec import Struct

from gristmill.model import Json, LeftOut
from gristmill.shaping.spill import KeptPart, Part, count_note_tokens, drop_suggestion
from gristmill.shaping.token_fit import EXACT_CHARACTERS, count_tokens, estimate_tokens

NOTE_TOKENS = 70
"""A first guess at what the note about the rest costs."""
TRIES = 4
MARGIN_TOKENS = 3


class FittedPart(Struct, frozen=True, kw_only=True):
    """A shortened part: its value, the text whose tokens are counted, and the line of code that shows more."""

    value: Json
    text: str
    how: str


class ReportPart(Struct, frozen=True, kw_only=True):
    """A part as it is returned, and the note about what was left out."""

    value: Json
    left: LeftOut | None = None


Make = Callable[[int], FittedPart]
"""Shortens the part to so many tokens, or as far as possible."""


def fit_part(part: Part, whole: str, kept: KeptPart, tokens: int, make: Make) -> ReportPart:
    """Runs ``make`` with the tokens that the note leaves free; drops the suggested code if there is no room for it."""
    total = estimate_tokens(whole)

    def describe_left_out(made: FittedPart) -> LeftOut:
        tokens = max(1, total - count_tokens(made.text))
        # A count by chunks is accurate to about a thousand, and should not look more exact than it is.
        return LeftOut(
            part=part, path=kept.path, tokens=round(tokens, -3) if len(whole) > EXACT_CHARACTERS else tokens, how=made.how
        )

    room = max(1, tokens - NOTE_TOKENS)
    for _ in range(TRIES):
        made = make(room)
        left = describe_left_out(made)
        if count_tokens(made.text) + count_note_tokens(left) <= tokens:
            return ReportPart(value=made.value, left=left)
        # The next note points at another place, perhaps with a few more digits; the margin covers those.
        room = max(1, min(room - 1, tokens - count_note_tokens(left) - MARGIN_TOKENS))
    made = make(1)
    left = describe_left_out(made)
    return ReportPart(
        value=made.value, left=left if count_tokens(made.text) + count_note_tokens(left) <= tokens else drop_suggestion(left)
    )
