"""Decides which calls may be sent: deny wins, then the most specific rule, then the default. The runtime acts on it."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.sections.servers_section import RESERVED_NAMES
from gristmill.errors import CallRefused
from gristmill.guard.policy.approval_limits import ApprovalLimits
from gristmill.guard.policy.globs import compile_glob
from gristmill.guard.policy.policy_rules import STRICTNESS, PolicyRule, read_rules
from gristmill.guard.policy.undo_calls import UndoCall, read_undos
from gristmill.model import Decision, Effect, Tool, ToolCall

CHANGED = "policy.changed_definitions"
"""Begins the rule of a decision about a tool whose definition is not the accepted one."""
MOST_REMEMBERED = 20_000
"""The most decisions, and tools with their rules, that are cached: programs choose the names and must not fill the memory."""


class ConsideredRule(Struct, frozen=True, kw_only=True):
    """One rule that matches the tool of a call, and what the rule did for this call."""

    rule: str
    effect: Effect
    outcome: Literal["decides", "matches", "cannot tell", "condition does not hold", "other session or caller"]


class _ToolRules(Struct, frozen=True):
    """The rules that match one tool, most specific first; ``fixed`` if they decide alike for every call of the tool."""

    rules: tuple[PolicyRule, ...]
    fixed: bool


class Policy:
    """The rules of a configuration, which decide about calls."""

    def __init__(self, config: PolicyConfig, rules: tuple[PolicyRule, ...]) -> None:
        self._config, self._rules = config, rules
        self._undos = read_undos(config.revert)
        self._rules_by_tool: dict[str, _ToolRules] = {}
        self._decisions: dict[tuple[str, bool, bool, bool], Decision] = {}

    @classmethod
    def from_config(cls, config: PolicyConfig) -> "Policy":
        """Builds the policy that ``config`` describes.

        Raises:
            ConfigError: a condition or an undo cannot be parsed.
        """
        return cls(config, read_rules(config))

    def take_rules(self, other: "Policy") -> None:
        """Decides by the rules and settings of ``other`` from now on."""
        self._config, self._rules, self._undos = other._config, other._rules, other._undos
        self._rules_by_tool, self._decisions = {}, {}

    @property
    def dry_run(self) -> bool:
        """Whether only calls of read-only tools are sent (``Decision.read_only``)."""
        return self._config.dry_run

    @property
    def approval_seconds(self) -> float:
        """Seconds that a plan waits for its decision, and that an approval stays valid."""
        return self._config.approval_minutes * 60

    @property
    def approval_limits(self) -> ApprovalLimits:
        """How many approvals one caller may ask for."""
        config = self._config
        return ApprovalLimits(
            waiting=config.approvals_waiting, per_hour=config.approvals_per_hour, tenant_bytes=config.approvals_mb << 20
        )

    @property
    def permissive_settings(self) -> tuple[str, ...]:
        """The settings that allow calls of any tool without review. Every audit record and `gristmill doctor` name them."""
        config = self._config
        found = [f'policy.{name} "allow"' for name in ("default", "changed_definitions") if getattr(config, name) == "allow"]
        return (*found, *(rule.text for rule in self._rules if rule.effect == "allow" and not rule.pattern.strip("*?.")))

    def decide(self, call: ToolCall, tool: Tool | None, *, accepted: bool = True, trusted: bool = False) -> Decision:
        """Decides about ``call``, which names its tool as the server does.

        ``accepted`` is false for a definition that changed and has not been reviewed; ``trusted`` is true for functions that the
        embedding application supplies itself.
        """
        read_only = accepted and tool is not None and _is_read_only(tool)
        cache_key = (call.tool, accepted, trusted, read_only)
        decision = self._decisions.get(cache_key)
        if decision is not None:
            return decision
        named = self._find_rules(call.tool)
        decision = self._apply_rules(named.rules, call, accepted, trusted or read_only)
        if read_only:
            decision = replace(decision, read_only=True)
        if named.fixed:
            if len(self._decisions) >= MOST_REMEMBERED:
                self._decisions.clear()
            self._decisions[cache_key] = decision
        return decision

    def explain(
        self, call: ToolCall, tool: Tool | None, *, accepted: bool = True, trusted: bool = False
    ) -> tuple[ConsideredRule, ...]:
        """Returns every rule that matches the tool, most specific first, and at the end the default if no rule decides."""
        decision = self.decide(call, tool, accepted=accepted, trusted=trusted)
        found = [
            ConsideredRule(rule=rule.text, effect=rule.effect, outcome=_describe_outcome(rule, call, decision))
            for rule in self._find_rules(call.tool).rules
        ]
        if not any(each.outcome == "decides" for each in found):
            found.append(ConsideredRule(rule=decision.rule, effect=decision.effect, outcome="decides"))
        return tuple(found)

    def may_review(self, tool: str) -> bool:
        """Returns whether a reviewer may approve calls of ``tool`` in place of a person."""
        return any(compile_glob(pattern).match(tool) for pattern in self._config.review)

    def find_undo(self, tool: str) -> UndoCall | None:
        """Returns how a call of ``tool`` is undone, or None if the configuration does not say it."""
        return self._undos.get(tool)

    def build_refusal(self, call: ToolCall, decision: Decision) -> CallRefused:
        """Builds the error for a call that is not sent; it says which setting would allow the call."""
        why = f"{call.tool} is not allowed by {decision.rule}"
        if decision.effect == "ask":
            why = f"{call.tool} needs approval ({decision.rule}) and no person can be asked"
        return CallRefused(f"{why}; {self._suggest_remedy(call, decision)}", rule=decision.rule)

    def find_unmatched_rules(self, keys: frozenset[str]) -> tuple[str, ...]:
        """Returns the rules that match none of ``keys``: a misspelt deny rule protects nothing."""
        return tuple(rule.text for rule in self._rules if not any(rule.matches_tool(key) for key in keys))

    def _suggest_remedy(self, call: ToolCall, decision: Decision) -> str:
        if decision.rule.startswith(CHANGED):
            return "its definition changed since it was accepted: look at the change and accept it"
        allow = f'add allow = ["{call.tool}"] under [policy]'
        if decision.effect == "deny" and not decision.rule.startswith("policy.default"):
            return f"deny wins over allow: narrow or remove that rule, then {allow}"
        return f"to allow it, {allow}"

    def _find_rules(self, key: str) -> _ToolRules:
        named = self._rules_by_tool.get(key)
        if named is None:
            rules = tuple(rule for rule in self._rules if rule.matches_tool(key))
            fixed = not any(rule.condition or rule.session or rule.caller for rule in rules)
            if len(self._rules_by_tool) >= MOST_REMEMBERED:
                self._rules_by_tool.clear()
            named = self._rules_by_tool[key] = _ToolRules(rules, fixed)
        return named

    def _apply_rules(self, rules: tuple[PolicyRule, ...], call: ToolCall, accepted: bool, is_harmless: bool) -> Decision:
        """Applies deny rules, then the first rule that certainly holds or an ask above it that may, then the change check."""
        possible_ask: PolicyRule | None = None
        chosen: PolicyRule | None = None
        for rule in rules:
            if not rule.matches_scope(call) or (chosen is not None and rule.effect != "deny"):
                continue
            holds = rule.condition_holds(call)
            if rule.effect == "deny" and holds is not False:
                return _build_decision(rule)
            if holds:
                chosen = rule
            elif holds is None and rule.effect == "ask":
                possible_ask = possible_ask or rule
        decision = _build_decision(chosen) if chosen is not None else self._decide_by_default(call, is_harmless)
        if possible_ask is not None and decision.effect == "allow":
            decision = _build_decision(possible_ask)
        return decision if accepted else self._tighten_if_changed(decision)

    def _decide_by_default(self, call: ToolCall, is_harmless: bool) -> Decision:
        default = self._config.default
        if call.tool.partition(".")[0] in RESERVED_NAMES:
            return Decision(effect="allow", rule="policy.default: Gristmill's own")
        if default == "annotations":
            return Decision(effect="allow" if is_harmless else "ask", rule='policy.default "annotations"')
        return Decision(effect=default, rule=f'policy.default "{default}"')

    def _tighten_if_changed(self, decision: Decision) -> Decision:
        changed = self._config.changed_definitions
        if STRICTNESS[changed] <= STRICTNESS[decision.effect]:
            return decision
        return Decision(effect=changed, rule=f'{CHANGED} "{changed}"')


def _build_decision(rule: PolicyRule) -> Decision:
    return Decision(effect=rule.effect, rule=rule.text, cache_seconds=rule.cache_seconds)


def _is_read_only(tool: Tool) -> bool:
    # A tool that is marked both read-only and destructive counts as not read-only.
    return tool.annotations.get("readOnlyHint") is True and tool.annotations.get("destructiveHint") is not True


def _describe_outcome(
    rule: PolicyRule, call: ToolCall, decision: Decision
) -> Literal["decides", "matches", "cannot tell", "condition does not hold", "other session or caller"]:
    if not rule.matches_scope(call):
        return "other session or caller"
    if rule.text == decision.rule:
        return "decides"
    holds = rule.condition_holds(call)
    return "matches" if holds else "cannot tell" if holds is None else "condition does not hold"
