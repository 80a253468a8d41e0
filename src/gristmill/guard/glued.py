"""What stands right beside a finding: a mask can lay bare what was glued to it and was not seen for what it is."""

from gristmill.guard.spans import BETWEEN, GAP, Found

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
        starts, ends, _ = zip(*found, strict=True)
        # Moved by one or two characters, so that all places can be looked up in one step; no text goes on into what is added.
        self._before = list(map(f"{BETWEEN[-1]}{joined}".__getitem__, starts))
        self._after = list(map(f"{joined}{BETWEEN[0]}".__getitem__, ends))
        self._second_before = list(map(f"{BETWEEN[-2:]}{joined}".__getitem__, starts))
        self._second_after = list(map(f"{joined[1:]}{BETWEEN[:2]}".__getitem__, ends))

    def crosses(self) -> bool:
        """Whether a finding begins or ends in what stands between texts, as a key of many lines may seem to."""
        return GAP in self._before or GAP in self._after

    def glued(self) -> list[int]:
        """Which findings have something glued to them."""
        which: set[int] = set()
        for characters, odd in (
            (self._before, set(self._before) - _OPENING),
            (self._after, set(self._after) - _CLOSING),
            (self._second_before, _NUMERIC.intersection(self._second_before)),
            (self._second_after, _NUMERIC.intersection(self._second_after)),
        ):
            if odd:
                which.update(at for at, character in enumerate(characters) if character in odd)
        return sorted(which)
