"""Which calls may leave: deny wins, then the most specific rule decides, then the default. Pure; the hall acts on it."""

from dataclasses import replace
from typing import Literal

from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.sections.servers_section import RESERVED_NAMES
from gristmill.errors import CallRefused
from gristmill.guard.policy.approval_limits import Patience
from gristmill.guard.policy.policy_rules import STRICTNESS, Rule, read_rules
from gristmill.model import Decision, Effect, Tool, ToolCall
from gristmill.values import dataclass

MOST_REMEMBERED = 20_000
"""Decisions kept, and tools whose rules are kept: names come from code, which must not fill our memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Considered:
    """One rule that names the tool of a call, and what it did for this call."""

    rule: str
    effect: Effect
    outcome: Literal["decides", "matches", "cannot tell", "condition does not hold", "other session or caller"]


@dataclass(frozen=True, slots=True)
class _Named:
    """The rules that name one tool, most specific first; ``fixed`` when no condition or scope makes calls differ."""

    rules: tuple[Rule, ...]
    fixed: bool


class Policy:
    """The rules of a configuration, ready to decide. Made by `Policy.of`."""

    def __init__(self, config: PolicyConfig, rules: tuple[Rule, ...]) -> None:
        self._config, self._rules = config, rules
        self._named: dict[str, _Named] = {}
        self._decided: dict[tuple[str, bool, bool, bool], Decision] = {}

    @classmethod
    def of(cls, config: PolicyConfig) -> "Policy":
        """The policy that ``config`` describes.

        Raises:
            ConfigError: a condition that cannot be read.
        """
        return cls(config, read_rules(config))

    @property
    def dry_run(self) -> bool:
        """Whether only calls known to read are to be sent (``Decision.read_only``)."""
        return self._config.dry_run

    @property
    def approval_seconds(self) -> float:
        """How long a question waits for its answer, and an approval for its use."""
        return self._config.approval_minutes * 60

    @property
    def patience(self) -> Patience:
        """How much one caller may ask of people."""
        return Patience(waiting=self._config.approvals_waiting, per_hour=self._config.approvals_per_hour)

    @property
    def weakened(self) -> tuple[str, ...]:
        """The settings that let calls pass which nobody looked at; for every audit record and for the doctor to say aloud."""
        config = self._config
        found = [f'policy.{name} "allow"' for name in ("default", "changed_definitions") if getattr(config, name) == "allow"]
        return (*found, *(rule.text for rule in self._rules if rule.effect == "allow" and not rule.pattern.strip("*?.")))

    def decide(self, call: ToolCall, tool: Tool | None, *, accepted: bool = True, trusted: bool = False) -> Decision:
        """What becomes of ``call``, whose tool stands under the name that its server gave it.

        ``accepted`` is false for a definition that changed and waits to be looked at; ``trusted`` is true for functions that the
        embedding application brought itself.
        """
        read_only = accepted and tool is not None and _only_reads(tool)
        known = (call.tool, accepted, trusted, read_only)
        decision = self._decided.get(known)
        if decision is not None:
            return decision
        named = self._of(call.tool)
        decision = self._weigh(named.rules, call, accepted, trusted or read_only)
        if read_only:
            decision = replace(decision, read_only=True)
        if named.fixed:
            if len(self._decided) >= MOST_REMEMBERED:
                self._decided.clear()
            self._decided[known] = decision
        return decision

    def explain(
        self, call: ToolCall, tool: Tool | None, *, accepted: bool = True, trusted: bool = False
    ) -> tuple[Considered, ...]:
        """Every rule that names the tool, most specific first, and last what decides when it is none of them."""
        decision = self.decide(call, tool, accepted=accepted, trusted=trusted)
        found = [
            Considered(rule=rule.text, effect=rule.effect, outcome=_outcome(rule, call, decision))
            for rule in self._of(call.tool).rules
        ]
        if not any(each.outcome == "decides" for each in found):
            found.append(Considered(rule=decision.rule, effect=decision.effect, outcome="decides"))
        return tuple(found)

    def refusal(self, call: ToolCall, decision: Decision) -> CallRefused:
        """The error for a call that does not leave; says what to write so that it does."""
        why = f"{call.tool} is not allowed by {decision.rule}"
        if decision.effect == "ask":
            why = f"{call.tool} needs approval ({decision.rule}) and nobody can be asked"
        return CallRefused(f"{why}; {self._remedy(call, decision)}", rule=decision.rule)

    def idle_patterns(self, keys: frozenset[str]) -> tuple[str, ...]:
        """Rules that name none of ``keys``: a misspelt deny protects nothing."""
        return tuple(rule.text for rule in self._rules if not any(rule.names(key) for key in keys))

    def _remedy(self, call: ToolCall, decision: Decision) -> str:
        if decision.rule.startswith("policy.changed_definitions"):
            return "its definition changed since it was accepted: look at the change and accept it"
        allow = f'add allow = ["{call.tool}"] under [policy]'
        if decision.effect == "deny" and not decision.rule.startswith("policy.default"):
            return f"deny wins over allow: narrow or remove that rule, then {allow}"
        return f"to let it pass, {allow}"

    def _of(self, key: str) -> _Named:
        named = self._named.get(key)
        if named is None:
            rules = tuple(rule for rule in self._rules if rule.names(key))
            fixed = not any(rule.condition or rule.session or rule.caller for rule in rules)
            if len(self._named) >= MOST_REMEMBERED:
                self._named.clear()
            named = self._named[key] = _Named(rules, fixed)
        return named

    def _weigh(self, rules: tuple[Rule, ...], call: ToolCall, accepted: bool, is_harmless: bool) -> Decision:
        """Deny first; then the definition; then the first rule that surely holds, or an ask above it that may."""
        asks_perhaps: Rule | None = None
        chosen: Rule | None = None
        for rule in rules:
            if not rule.is_for(call) or (chosen is not None and rule.effect != "deny"):
                continue
            holds = rule.applies(call)
            if rule.effect == "deny" and holds is not False:
                return _by(rule)
            if holds:
                chosen = rule
            elif holds is None and rule.effect == "ask":
                asks_perhaps = asks_perhaps or rule
        decision = _by(chosen) if chosen is not None else self._default(call, is_harmless)
        if asks_perhaps is not None and decision.effect == "allow":
            decision = _by(asks_perhaps)
        return decision if accepted else self._changed(decision)

    def _default(self, call: ToolCall, is_harmless: bool) -> Decision:
        default = self._config.default
        if call.tool.partition(".")[0] in RESERVED_NAMES:
            return Decision(effect="allow", rule="policy.default: Gristmill's own")
        if default == "annotations":
            return Decision(effect="allow" if is_harmless else "ask", rule='policy.default "annotations"')
        return Decision(effect=default, rule=f'policy.default "{default}"')

    def _changed(self, decision: Decision) -> Decision:
        changed = self._config.changed_definitions
        if STRICTNESS[changed] <= STRICTNESS[decision.effect]:
            return decision
        return Decision(effect=changed, rule=f'policy.changed_definitions "{changed}"')


def _by(rule: Rule) -> Decision:
    return Decision(effect=rule.effect, rule=rule.text, cache_seconds=rule.cache_seconds)


def _only_reads(tool: Tool) -> bool:
    # A server that contradicts itself is not believed.
    return tool.annotations.get("readOnlyHint") is True and tool.annotations.get("destructiveHint") is not True


def _outcome(
    rule: Rule, call: ToolCall, decision: Decision
) -> Literal["decides", "matches", "cannot tell", "condition does not hold", "other session or caller"]:
    if not rule.is_for(call):
        return "other session or caller"
    if rule.text == decision.rule:
        return "decides"
    holds = rule.applies(call)
    return "matches" if holds else "cannot tell" if holds is None else "condition does not hold"
