"""The nouns of this room: what a part may cost, what came of it, and what was left out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gristmill.model import Json

Strategy = Literal["summarize", "head_tail", "sample", "schema_only", "full"]
"""How that which does not fit is made short. What fits goes back as it is, whichever is chosen."""

Part = Literal["output", "result", "error"]

Spill = Callable[[str, bytes], str | None]
"""Keeps bytes under a name (``result.json``) and returns their path as the sandbox sees it; nothing where nothing is kept.

It may fail with an ``Error`` or an ``OSError``: then the rest is lost, and what goes back says so.
"""

LEAST_TOKENS = 100
"""Below this there is no room for saying what was left out and where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens (o200k) that each part may cost, the lines about what was left out included."""

    output_tokens: int = 500
    result_tokens: int = 2_000
    error_tokens: int = 400

    def __post_init__(self) -> None:
        for name in ("output_tokens", "result_tokens", "error_tokens"):
            if getattr(self, name) < LEAST_TOKENS:
                raise ValueError(f"{name} is {getattr(self, name)}: at least {LEAST_TOKENS} are needed")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What did not go back. ``how`` is one line of Python that looks at more of it, or what to do when it is lost."""

    part: Part
    path: str | None
    tokens: int
    exact: bool
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaped:
    """A report made short. ``result`` is a JSON value, whatever was left out of it."""

    output: str
    result: Json
    error: str | None
    truncated: bool
    left_out: tuple[LeftOut, ...] = ()
