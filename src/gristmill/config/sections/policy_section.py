"""The `policy` section of the configuration: which tool calls may be sent. `guard/policy` decides by it."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from gristmill.config.sections.base import Section, use_section_defaults
from gristmill.config.sections.servers_section import SECRET_REFERENCE
from gristmill.model import Effect

Default = Literal["annotations", "allow", "ask", "deny"]

_DURATION = re.compile(r"(\d{1,6})\s*([smhd])")
_SECONDS_PER_UNIT = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def _check_tool_pattern(pattern: str) -> str:
    if not pattern or len(pattern) > 300 or any(letter.isspace() for letter in pattern):
        raise ValueError("a pattern is `server.tool`, where * stands for anything and ? for one letter")
    if "." not in pattern and pattern != "*":
        raise ValueError(f"{pattern!r} names no tool: write {pattern + '.*'!r} for all tools of that server")
    return pattern


def _wrap_text_in_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _check_tool_key(key: str) -> str:
    if not re.fullmatch(r"[^\s.*?]+\.[^\s*?]+", key) or len(key) > 300:
        raise ValueError("name one tool, as `server.tool`")
    return key


Pattern = Annotated[str, AfterValidator(_check_tool_pattern)]
ToolKey = Annotated[str, AfterValidator(_check_tool_key)]


class RuleConfig(Section):
    """One policy rule with more conditions than a pattern."""

    match: Annotated[tuple[Pattern, ...], BeforeValidator(_wrap_text_in_tuple)] = Field(min_length=1)
    """A pattern such as `github.create_*`, or several."""
    effect: Effect
    """`allow`, `ask` or `deny`."""
    when: str | None = Field(default=None, max_length=2_000)
    """Condition on the arguments, such as `amount < 100 and currency == "EUR"`; empty means always."""
    session: str = "*"
    """Only for sessions of this name; a pattern. A call without a session has the empty name."""
    caller: str = "*"
    """Only for this caller; a pattern. `local` is the user who starts the runtime."""
    cache: str | None = None
    """How long an answer may be used again within a session, such as `30s`, `5m`, `1h`; for `allow` only."""

    @model_validator(mode="after")
    def _check_cache(self) -> Self:
        if self.cache is not None and not _DURATION.fullmatch(self.cache):
            raise ValueError("cache is a number and a unit: 30s, 5m, 1h or 1d")
        if self.cache is not None and self.effect != "allow":
            raise ValueError("cache is only for rules with the effect allow: a call that needs approval is asked about each time")
        return self

    @property
    def cache_seconds(self) -> float:
        """``cache`` in seconds; 0 means that answers are not cached."""
        found = _DURATION.fullmatch(self.cache or "")
        return float(int(found[1]) * _SECONDS_PER_UNIT[found[2]]) if found else 0.0


class NotifyConfig(Section):
    """Where people are told that a plan waits for them. With an empty `url` nobody is told."""

    url: str = ""
    """Address that each new plan is posted to: https, or this machine; a secret one as a reference such as `${env:CHAT_HOOK}`."""
    format: Literal["json", "slack"] = "json"
    """`json` has fields for programs; `slack` has one field, `text`, as incoming webhooks of Slack and other chats take it."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        is_local = re.match(r"http://(127\.0\.0\.1|localhost|\[::1\])[:/]", url) is not None
        if url and not (SECRET_REFERENCE.fullmatch(url) or url.startswith("https://") or is_local):
            raise ValueError(
                "it must begin with https:// (http:// only on this machine), or be a reference such as ${env:CHAT_HOOK}"
            )
        return url


class PolicyConfig(Section):
    """Which tool calls may be sent. An empty section allows read-only tools and asks for approval of all others."""

    allow: tuple[Pattern, ...] = ()
    """Patterns of calls that are sent without approval, such as `github.get_*`."""
    ask: tuple[Pattern, ...] = ()
    """Patterns of calls that need a person's approval."""
    deny: tuple[Pattern, ...] = ()
    """Patterns of calls that are never sent; `deny` wins over all other rules."""
    review: tuple[Pattern, ...] = ()
    """Patterns of calls that need approval and that the `review` function of the embedding application may approve instead."""
    rules: tuple[RuleConfig, ...] = ()
    """Rules with conditions on arguments, sessions or callers, as `[[policy.rules]]`; their order does not matter."""
    default: Default = "annotations"
    """For calls that no rule matches. `annotations` allows tools marked read-only, and asks for all others."""
    changed_definitions: Effect = "ask"
    """For tools whose definition is not the accepted one: `ask`, `deny`, or `allow` to apply only the other rules."""
    notify: NotifyConfig = use_section_defaults()
    """Where people are told that a plan waits for them."""
    revert: Annotated[dict[ToolKey, Annotated[str, Field(max_length=1_000)]], Field(max_length=1_000)] = Field(
        default_factory=dict[str, str]
    )
    """How a call of a tool is undone, by tool: `"crm.create" = "crm.delete(id=result.id)"`. `gristmill revert` uses it."""
    dry_run: bool = False
    """Whether only calls of read-only tools are sent; all other calls are recorded and not sent."""
    approval_minutes: float = Field(default=60.0, gt=0, le=43_200)
    """Minutes that a plan waits for its decision, and that an approval stays valid."""
    standing_rules: bool = True
    """Whether rules that a person made while approving ("always allow this tool") hold; `deny` wins over them."""
    approvals_waiting: int = Field(default=25, ge=0, le=100_000)
    """Plans of one caller that may wait for a decision at the same time; 0 is no limit."""
    approvals_per_hour: int = Field(default=100, ge=0, le=100_000)
    """Plans that one caller may submit for approval within an hour; 0 is no limit."""
    approvals_mb: int = Field(default=64, ge=1, le=1_048_576)
    """Megabytes of stored plans of one tenant; expired ones make room, and a plan that does not fit is not submitted."""
