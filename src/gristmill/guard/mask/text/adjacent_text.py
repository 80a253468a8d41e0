"""Reads the text right beside a finding. Something glued to it may have gone unrecognised until the finding was masked."""

from itertools import compress, count

from gristmill.guard.mask.text.text_spans import GAP, SEPARATOR, Found

_NEUTRAL_BEFORE, _NEUTRAL_AFTER = frozenset(" \t\n\r\"'<>([{:=,;|"), frozenset(" \t\n\r\"'<>)]},;:|\\")
_NUMERIC = frozenset("0123456789+(")


def is_glued(before: str, after: str) -> bool:
    """Tells by two characters on each side if a finding touches more than spaces, quotes and brackets, or digits behind them."""
    return bool(
        (before and (before[-1] not in _NEUTRAL_BEFORE or before[0] in _NUMERIC))
        or (after and (after[0] not in _NEUTRAL_AFTER or after[-1] in _NUMERIC))
    )


class AdjacentText:
    """The two characters before and after each finding in joined texts. Findings may be many, but few such pairs differ."""

    def __init__(self, joined: str, found: Found) -> None:
        self._before = [joined[start - 2 : start] for start, _, _ in found]
        self._after = [joined[end : end + 2] for _, end, _ in found]
        # The first text may have fewer than two characters before a finding; the separator between texts fills the gap.
        self._before[:2] = [f"{SEPARATOR[-2:]}{joined[max(0, start - 2) : start]}"[-2:] for start, _, _ in found[:2]]

    def crosses_separator(self) -> bool:
        """Tells whether a finding begins or ends in the separator between texts, as one for a key of many lines can."""
        return any(two[-1] == GAP for two in set(self._before)) or any(two[:1] == GAP for two in set(self._after))

    def find_glued(self) -> list[int]:
        """Returns the numbers of the findings that have something glued to them."""
        odd_before = {two for two in set(self._before) if is_glued(two, "")}
        odd_after = {two for two in set(self._after) if is_glued("", two)}
        if not odd_before and not odd_after:
            return []
        found: set[int] = set()
        for odd, sides in ((odd_before, self._before), (odd_after, self._after)):
            found.update(compress(count(), map(odd.__contains__, sides)) if odd else ())
        return sorted(found)
