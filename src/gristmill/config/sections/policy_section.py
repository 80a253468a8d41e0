"""The `policy` section of the configuration: which tool calls may leave. Ground below `config`; `guard/policy/policy.py` decides."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from gristmill.config.sections.base import Section
from gristmill.model import Effect

Default = Literal["annotations", "allow", "ask", "deny"]

_DURATION = re.compile(r"(\d{1,6})\s*([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _checked_pattern(pattern: str) -> str:
    if not pattern or len(pattern) > 300 or any(letter.isspace() for letter in pattern):
        raise ValueError("a pattern is `server.tool`, where * stands for anything and ? for one letter")
    if "." not in pattern and pattern != "*":
        raise ValueError(f"{pattern!r} names no tool: write {pattern + '.*'!r} for all tools of that server")
    return pattern


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Pattern = Annotated[str, AfterValidator(_checked_pattern)]


class RuleConfig(Section):
    """One rule with more to it than a pattern."""

    match: Annotated[tuple[Pattern, ...], BeforeValidator(_listed)] = Field(min_length=1)
    """A pattern such as `github.create_*`, or several."""
    effect: Effect
    """`allow`, `ask` or `deny`."""
    when: str | None = Field(default=None, max_length=2_000)
    """Condition on the arguments, such as `amount < 100 and currency == "EUR"`; empty means always."""
    session: str = "*"
    """Only for sessions of this name; a pattern. A call without a session has the empty name."""
    caller: str = "*"
    """Only for this caller; a pattern. `local` is whoever starts the runtime."""
    cache: str | None = None
    """How long an answer may be used again within a session, such as `30s`, `5m`, `1h`; for `allow` only."""

    @model_validator(mode="after")
    def _cache_is_a_time_for_allow(self) -> Self:
        if self.cache is not None and not _DURATION.fullmatch(self.cache):
            raise ValueError("cache is a number and a unit: 30s, 5m, 1h or 1d")
        if self.cache is not None and self.effect != "allow":
            raise ValueError("cache belongs to rules with the effect allow: what asks is asked each time")
        return self

    @property
    def cache_seconds(self) -> float:
        """``cache`` in seconds; 0 is never."""
        found = _DURATION.fullmatch(self.cache or "")
        return float(int(found[1]) * _SECONDS[found[2]]) if found else 0.0


class PolicyConfig(Section):
    """Which tool calls may leave. Empty lets read-only tools pass and asks for all others."""

    allow: tuple[Pattern, ...] = ()
    """Patterns of calls that pass, such as `github.get_*`."""
    ask: tuple[Pattern, ...] = ()
    """Patterns of calls that need a person's yes."""
    deny: tuple[Pattern, ...] = ()
    """Patterns of calls that never leave; wins over everything."""
    rules: tuple[RuleConfig, ...] = ()
    """Rules with conditions on arguments, sessions or callers, as `[[policy.rules]]`; their order does not matter."""
    default: Default = "annotations"
    """For calls that no rule matches. `annotations` allows tools that say they only read, and asks for all others."""
    changed_definitions: Effect = "ask"
    """For tools whose definition is not the one that was accepted: `ask`, `deny`, or `allow` to go by the rules alone."""
    dry_run: bool = False
    """Send only calls that are known to read; record what all others would have done."""
    approval_minutes: float = Field(default=60.0, gt=0, le=43_200)
    """How long a question waits for its answer, and an approval for its use."""
    approvals_waiting: int = Field(default=25, ge=0, le=100_000)
    """Plans of one caller that may wait for a person at the same time; 0 is no limit."""
    approvals_per_hour: int = Field(default=100, ge=0, le=100_000)
    """Plans that one caller may put before a person within an hour; 0 is no limit."""
