"""The rules of the policy, compiled for matching calls, and how specific each one is. `policy` decides between them."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import total_ordering

from msgspec import Struct

from gristmill.config.sections.policy_section import PolicyConfig, RuleConfig
from gristmill.errors import ConfigError
from gristmill.guard.policy.conditions import Condition
from gristmill.guard.policy.globs import compile_glob
from gristmill.model import Effect, ToolCall

STRICTNESS: Mapping[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}


@total_ordering
class RuleWeight(Struct, frozen=True, kw_only=True):
    """How specific a rule is: by its letters, then whether it is exact, then its scopes and condition, then its strictness."""

    letters: int = -1
    exact: bool = False
    narrowed: int = 0
    scope_letters: int = 0
    strictness: int = 0
    text: str = ""
    """Compared last, so that the order of rules in the file never matters."""

    def __lt__(self, other: "RuleWeight") -> bool:
        return self._sort_key() < other._sort_key()

    def _sort_key(self) -> tuple[int, bool, int, int, int, str]:
        return self.letters, self.exact, self.narrowed, self.scope_letters, self.strictness, self.text


class PolicyRule(Struct, frozen=True, kw_only=True):
    """A pattern, its effect, and the calls it is for. ``text`` is the rule as the configuration has it."""

    pattern: str
    effect: Effect
    text: str
    weight: RuleWeight
    cache_seconds: float = 0.0
    condition: Condition | None = None
    session: re.Pattern[str] | None = None
    caller: re.Pattern[str] | None = None
    _exact_pattern: re.Pattern[str]
    _folded_pattern: re.Pattern[str]

    def matches_tool(self, key: str) -> bool:
        """Tells whether the pattern matches ``key``. Rules that ask or deny also match other spellings of the name."""
        if self._exact_pattern.match(key):
            return True
        # Ask and deny rules with the Python name must also hold for the server's spelling; allow rules only for the exact name.
        return self.effect != "allow" and bool(self._folded_pattern.match(fold_key(key)))

    def matches_scope(self, call: ToolCall) -> bool:
        """Tells whether the rule is for the session and caller of ``call``."""
        if self.session is not None and not self.session.match(call.session or ""):
            return False
        return self.caller is None or bool(self.caller.match(call.identity.caller))

    def condition_holds(self, call: ToolCall) -> bool | None:
        """Tells whether the condition holds; None when that is unknown."""
        if self.condition is None:
            return True
        # Positional arguments have no names yet, so nothing is known about any argument.
        return None if call.positional else self.condition.holds(call.arguments)


def read_rules(config: PolicyConfig) -> tuple[PolicyRule, ...]:
    """Compiles every rule of ``config``, the most specific first.

    Raises:
        ConfigError: a condition cannot be parsed.
    """
    found = [
        *_build_plain_rules("allow", config.allow),
        *_build_plain_rules("ask", config.ask),
        *_build_plain_rules("deny", config.deny),
    ]
    for number, entry in enumerate(config.rules):
        try:
            found += _build_detailed_rules(entry)
        except ConfigError as error:
            raise ConfigError(f"policy.rules.{number}.when: {error}") from None
    return tuple(sorted(found, key=lambda rule: rule.weight, reverse=True))


def fold_key(key: str) -> str:
    """Returns ``key`` without differences in spelling: case, dashes, Unicode compatibility forms."""
    return re.sub(r"[^\w.*?]", "_", unicodedata.normalize("NFKC", key).casefold())


def _build_plain_rules(effect: Effect, patterns: tuple[str, ...]) -> Iterator[PolicyRule]:
    for pattern in patterns:
        yield _build_rule(pattern, RuleConfig(match=(pattern,), effect=effect), f'policy.{effect} "{pattern}"')


def _build_detailed_rules(entry: RuleConfig) -> Iterator[PolicyRule]:
    parts = [f"{name} = {value!r}" for name, value in (("session", entry.session), ("caller", entry.caller)) if value != "*"]
    parts += [f"when = {entry.when!r}"] if entry.when else []
    for pattern in entry.match:
        yield _build_rule(pattern, entry, f'policy.rules {entry.effect} "{pattern}"' + "".join(f", {part}" for part in parts))


def _build_rule(pattern: str, entry: RuleConfig, text: str) -> PolicyRule:
    scopes = [scope for scope in (entry.session, entry.caller) if scope != "*"]
    weight = RuleWeight(
        letters=_count_letters(pattern),
        exact=_count_letters(pattern) == len(pattern),
        narrowed=len(scopes) + bool(entry.when),
        scope_letters=sum(map(_count_letters, scopes)),
        strictness=STRICTNESS[entry.effect],
        text=f"{text} {-entry.cache_seconds:020.1f}",
    )
    return PolicyRule(
        pattern=pattern,
        effect=entry.effect,
        text=text,
        weight=weight,
        cache_seconds=entry.cache_seconds,
        condition=Condition.parse(entry.when) if entry.when else None,
        session=compile_glob(entry.session) if entry.session != "*" else None,
        caller=compile_glob(entry.caller) if entry.caller != "*" else None,
        _exact_pattern=compile_glob(pattern),
        _folded_pattern=compile_glob(fold_key(pattern)),
    )


def _count_letters(pattern: str) -> int:
    return sum(letter not in "*?" for letter in pattern)
