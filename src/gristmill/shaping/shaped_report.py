"""The values that shaping returns and takes: a shortened report, and the function that keeps what was left out of it."""

from collections.abc import Callable

from msgspec import Struct

from gristmill.model import Json, LeftOut

Spill = Callable[[str, bytes], str | None]
"""Keeps bytes under a name (``result.json``) and returns their path as the sandbox sees it; None if nothing is kept.

It may raise an ``Error`` or an ``OSError``: then the rest is lost, and the returned note says so.
"""

LEAST_TOKENS = 100
"""Smaller budgets are raised to this one: below it there is no room to say what was left out and where it is."""
ERROR_TOKENS = 400


class ShapedReport(Struct, frozen=True, kw_only=True):
    """A shortened report. ``result`` is a JSON value, even if parts of it were left out."""

    output: str
    result: Json
    error: str | None
    truncated: bool
    left_out: tuple[LeftOut, ...] = ()
