"""One rule of the policy, ready to be held against calls, and how specific it is. `policy` weighs them against each other."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from fnmatch import translate
from functools import total_ordering

from gristmill.config.sections.policy_section import PolicyConfig, RuleConfig
from gristmill.errors import ConfigError
from gristmill.guard.policy.conditions import Condition
from gristmill.model import Effect, ToolCall
from gristmill.values import dataclass

STRICTNESS: Mapping[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}


@total_ordering
@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """How specific a rule is: its letters first, then whether it is exact, then scopes and condition, then strictness."""

    letters: int = -1
    exact: bool = False
    narrowed: int = 0
    scope_letters: int = 0
    strictness: int = 0
    text: str = ""
    """Only so that the order of rules in the file never matters."""

    def __lt__(self, other: "Weight") -> bool:
        return self._tuple() < other._tuple()

    def _tuple(self) -> tuple[int, bool, int, int, int, str]:
        return self.letters, self.exact, self.narrowed, self.scope_letters, self.strictness, self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern, what it leads to, and for which calls. ``text`` is how it stands in the configuration."""

    pattern: str
    effect: Effect
    text: str
    weight: Weight
    cache_seconds: float = 0.0
    condition: Condition | None = None
    session: re.Pattern[str] | None = None
    caller: re.Pattern[str] | None = None
    _exact: re.Pattern[str]
    _folded: re.Pattern[str]

    def names(self, key: str) -> bool:
        """Whether the pattern matches ``key``. What is not to pass unasked is also matched in other spellings."""
        if self._exact.match(key):
            return True
        # A rule written with the Python name must hold for the server's own spelling too; to allow, only the exact one does.
        return self.effect != "allow" and bool(self._folded.match(folded(key)))

    def is_for(self, call: ToolCall) -> bool:
        """Whether session and caller are those the rule is for."""
        if self.session is not None and not self.session.match(call.session or ""):
            return False
        return self.caller is None or bool(self.caller.match(call.caller))

    def applies(self, call: ToolCall) -> bool | None:
        """Whether the condition holds; None when that cannot be told."""
        if self.condition is None:
            return True
        # Arguments without a name are not known by name yet, so nothing is known about any argument.
        return None if call.positional else self.condition.holds(call.arguments)


def read_rules(config: PolicyConfig) -> tuple[Rule, ...]:
    """Every rule of ``config``, the most specific first.

    Raises:
        ConfigError: a condition that cannot be read.
    """
    found = [*_plain("allow", config.allow), *_plain("ask", config.ask), *_plain("deny", config.deny)]
    for number, entry in enumerate(config.rules):
        try:
            found += _detailed(entry)
        except ConfigError as error:
            raise ConfigError(f"policy.rules.{number}.when: {error}") from None
    return tuple(sorted(found, key=lambda rule: rule.weight, reverse=True))


def folded(key: str) -> str:
    """``key`` without the differences that spellings make: case, dashes, compatibility forms."""
    return re.sub(r"[^\w.*?]", "_", unicodedata.normalize("NFKC", key).casefold())


def glob(pattern: str) -> re.Pattern[str]:
    """``*`` is anything, ``?`` one letter, all else itself."""
    return re.compile(translate(pattern.replace("[", "[[]")))


def _plain(effect: Effect, patterns: tuple[str, ...]) -> Iterator[Rule]:
    for pattern in patterns:
        yield _rule(pattern, RuleConfig(match=(pattern,), effect=effect), f'policy.{effect} "{pattern}"')


def _detailed(entry: RuleConfig) -> Iterator[Rule]:
    parts = [f"{name} = {value!r}" for name, value in (("session", entry.session), ("caller", entry.caller)) if value != "*"]
    parts += [f"when = {entry.when!r}"] if entry.when else []
    for pattern in entry.match:
        yield _rule(pattern, entry, f'policy.rules {entry.effect} "{pattern}"' + "".join(f", {part}" for part in parts))


def _rule(pattern: str, entry: RuleConfig, text: str) -> Rule:
    scopes = [scope for scope in (entry.session, entry.caller) if scope != "*"]
    weight = Weight(
        letters=_letters(pattern),
        exact=_letters(pattern) == len(pattern),
        narrowed=len(scopes) + bool(entry.when),
        scope_letters=sum(map(_letters, scopes)),
        strictness=STRICTNESS[entry.effect],
        text=f"{text} {-entry.cache_seconds:020.1f}",
    )
    return Rule(
        pattern=pattern,
        effect=entry.effect,
        text=text,
        weight=weight,
        cache_seconds=entry.cache_seconds,
        condition=Condition.parse(entry.when) if entry.when else None,
        session=glob(entry.session) if entry.session != "*" else None,
        caller=glob(entry.caller) if entry.caller != "*" else None,
        _exact=glob(pattern),
        _folded=glob(folded(pattern)),
    )


def _letters(pattern: str) -> int:
    return sum(letter not in "*?" for letter in pattern)
