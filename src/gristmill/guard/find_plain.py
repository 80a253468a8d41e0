"""What stands at the places of digits, told at first sight: most are a date, an amount or a piece of an identifier, and many are
plainly one telephone number with a ``+``, or nothing but digits.

All places are cut out, joined and told apart in one pass of one pattern, in which each costs a fraction of a search of its own.
Only what is left needs a closer look. What is found is what that closer look would find.
"""

import re
from collections.abc import Callable

from gristmill.guard.mask.detectors.digit_runs import NO_DATE, Spans

_APART = "\1"
_GOES_ON = r"[+ .()/\-?\u00a0\u0100-\U0010ffff]"
"""What places are made of besides digits: before any other character they end."""
_FEWEST = 8
"""Digits of the shortest number that is looked for."""

Sorted = tuple[Spans, Spans, Spans]
"""Nothing but digits; telephone numbers; what needs a closer look."""


def place_sorter(abroad: str, longest: int) -> Callable[[str, Spans], Sorted]:
    """A function that tells places apart, by a pattern for telephone numbers with a ``+`` of at most that length."""
    # After the character before the place: digits or a telephone number that are no part of a word, or the first character of
    # whatever else has enough digits and is no date. Two characters stand after the place, at which patterns look.
    pattern = re.compile(
        rf"""{_APART}(?s:.)(
            (?<![A-Za-z_])[0-9]++(?![A-Za-z_]|{_GOES_ON})
           |(?<![A-Za-z_])(?=\+{NO_DATE})(?![^{_APART}]{{{longest + 3}}})(?:{abroad})(?!{_GOES_ON})
           |(?![0-9]++(?!{_GOES_ON}))
            (?![0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?!{_GOES_ON}))
            (?=(?:[^0-9{_APART}]*+[0-9]){{{_FEWEST}}}).
           |)""",
        re.VERBOSE,
    )

    def sort(text: str, places: Spans) -> Sorted:
        around = f"\n{text}\n\n"
        joined = _APART + _APART.join([around[start : end + 3] for start, end in places])
        if joined.count(_APART) != len(places):
            return [], [], places  # the text has it too
        bare, phones, others = Spans(), Spans(), Spans()
        for place, what in zip(places, pattern.findall(joined), strict=True):
            if what:
                (others if len(what) == 1 else phones if what[0] == "+" else bare).append(place)
        return bare, phones, others

    return sort
