"""What stands right beside a finding: a mask can lay bare what was glued to it and was not seen for what it is."""

from gristmill.guard.spans import BETWEEN, GAP, Found

_OPENING, _CLOSING = frozenset(" \t\n\r\"'<>([{:=,;|"), frozenset(" \t\n\r\"'<>)]},;:|\\")
_NUMERIC = frozenset("0123456789+(")
_REACH = len(BETWEEN)


def is_glued(before: str, after: str) -> bool:
    """Whether other than spaces, quotes and brackets stand around a finding, or digits right behind those; by two characters."""
    return bool(
        (before and (before[-1] not in _OPENING or before[0] in _NUMERIC))
        or (after and (after[0] not in _CLOSING or after[-1] in _NUMERIC))
    )


class Beside:
    """What stands before and after each finding in texts that were joined. There may be many, but few that differ."""

    def __init__(self, joined: str, found: Found) -> None:
        padded = f"{BETWEEN}{joined}{BETWEEN}"
        self._before = [padded[start : start + _REACH] for start, _, _ in found]
        self._after = [padded[end + _REACH : end + _REACH + 2] for _, end, _ in found]
        self._befores, self._afters = set(self._before), set(self._after)

    def crosses(self) -> bool:
        """Whether a finding begins or ends in what stands between texts, as a key of many lines may seem to."""
        return any(before[-1] == GAP for before in self._befores) or any(after[0] == GAP for after in self._afters)

    def glued(self) -> list[int]:
        """Which findings have something glued to them, each looked at in its own text."""
        before = {each for each in self._befores if is_glued(_of_text(each), "")}
        after = {each for each in self._afters if is_glued("", each)}
        if not (before or after):
            return []
        beside = zip(self._before, self._after, strict=True)
        return [which for which, (left, right) in enumerate(beside) if left in before or right in after]


def _of_text(before: str) -> str:
    """At most two characters, and none of what stands before the text."""
    start = before.find(BETWEEN[1:])
    return before[start + len(BETWEEN[1:]) :] if start >= 0 else before[-2:]
