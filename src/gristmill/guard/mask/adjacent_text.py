"""What stands right beside a finding: a mask can lay bare what was glued to it and was not seen for what it is."""

from itertools import compress, count

from gristmill.guard.mask.text_spans import BETWEEN, GAP, Found

_OPENING, _CLOSING = frozenset(" \t\n\r\"'<>([{:=,;|"), frozenset(" \t\n\r\"'<>)]},;:|\\")
_NUMERIC = frozenset("0123456789+(")


def is_glued(before: str, after: str) -> bool:
    """Whether other than spaces, quotes and brackets stand around a finding, or digits right behind those; by two characters."""
    return bool(
        (before and (before[-1] not in _OPENING or before[0] in _NUMERIC))
        or (after and (after[0] not in _CLOSING or after[-1] in _NUMERIC))
    )


class Beside:
    """What stands before and after each finding in texts that were joined. There may be many, but few characters that differ."""

    def __init__(self, joined: str, found: Found) -> None:
        self._before = [joined[start - 2 : start] for start, _, _ in found]
        self._after = [joined[end : end + 2] for _, end, _ in found]
        # Of the first text there may be less to see; it does not go on into what stands between texts.
        self._before[:2] = [f"{BETWEEN[-2:]}{joined[max(0, start - 2) : start]}"[-2:] for start, _, _ in found[:2]]

    def crosses(self) -> bool:
        """Whether a finding begins or ends in what stands between texts, as a key of many lines may seem to."""
        return any(two[-1] == GAP for two in set(self._before)) or any(two[:1] == GAP for two in set(self._after))

    def glued(self) -> list[int]:
        """Which findings have something glued to them."""
        odd_before = {two for two in set(self._before) if is_glued(two, "")}
        odd_after = {two for two in set(self._after) if is_glued("", two)}
        if not odd_before and not odd_after:
            return []
        found: set[int] = set()
        for odd, sides in ((odd_before, self._before), (odd_after, self._after)):
            found.update(compress(count(), map(odd.__contains__, sides)) if odd else ())
        return sorted(found)
