"""What this room gives and takes: a report made short, and the callable that keeps what was left out of it."""

from collections.abc import Callable

from gristmill.model import Json, LeftOut
from gristmill.values import dataclass

Spill = Callable[[str, bytes], str | None]
"""Keeps bytes under a name (``result.json``) and returns their path as the sandbox sees it; nothing where nothing is kept.

It may fail with an ``Error`` or an ``OSError``: then the rest is lost, and what goes back says so.
"""

LEAST_TOKENS = 100
"""A smaller budget is taken as this one: below there is no room for saying what was left out and where it is."""
ERROR_TOKENS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """A report made short. ``result`` is a JSON value, whatever was left out of it."""

    output: str
    result: Json
    error: str | None
    truncated: bool
    left_out: tuple[LeftOut, ...] = ()
