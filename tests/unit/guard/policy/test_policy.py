"""Which calls may leave: by rule, by default, and never more than the rules say."""

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from gristmill.config.sections.policy_section import PolicyConfig, RuleConfig
from gristmill.errors import ConfigError
from gristmill.guard.policy.policy import ConsideredRule, Policy
from gristmill.model import Decision, Effect, Identity, Tool, ToolCall

ORDER: dict[Effect, int] = {"allow": 0, "ask": 1, "deny": 2}
READS = Tool(server="crm", name="get", annotations={"readOnlyHint": True})
WRITES = Tool(server="crm", name="get")


def call(tool: str = "crm.get", **arguments: Any) -> ToolCall:
    return ToolCall(id=1, tool=tool, arguments=arguments)


def policy(**config: Any) -> Policy:
    return Policy.from_config(PolicyConfig.model_validate(config))


def effect(made: Policy, tool: str = "crm.get", **arguments: Any) -> str:
    return made.decide(call(tool, **arguments), None).effect


def test_without_rules_what_only_reads_passes_and_all_else_asks() -> None:
    assert policy().decide(call(), READS) == Decision(effect="allow", rule='policy.default "annotations"', read_only=True)
    assert policy().decide(call(), WRITES) == Decision(effect="ask", rule='policy.default "annotations"')
    assert policy().decide(call(), None).effect == "ask"


def test_functions_of_the_application_and_our_own_tools_pass_by_default() -> None:
    assert policy().decide(call(), WRITES, trusted=True).effect == "allow"
    assert effect(policy(), "gristmill.search_tools") == effect(policy(default="deny"), "skills.report") == "allow"
    assert policy(default="ask").decide(call(), WRITES, trusted=True).effect == "ask"
    assert policy(deny=["skills.*"]).decide(call("skills.report"), None).effect == "deny"


@pytest.mark.parametrize("default", ["allow", "ask", "deny"])
def test_a_default_holds_for_what_no_rule_matches(default: str) -> None:
    assert policy(default=default).decide(call(), READS).effect == default


def test_deny_wins_however_general_it_is() -> None:
    assert effect(policy(allow=["crm.get"], deny=["*"])) == "deny"


def test_the_most_specific_rule_decides() -> None:
    made = policy(allow=["crm.*", "crm.delete_draft"], ask=["crm.delete_*"])
    assert [effect(made, tool) for tool in ("crm.get", "crm.delete_all", "crm.delete_draft")] == ["allow", "ask", "allow"]
    assert effect(policy(allow=["crm.get"], ask=["crm.get*"])) == "allow"
    assert effect(policy(allow=["crm.g*"], ask=["crm.*t"])) == "ask"  # as many letters each: the stricter
    assert effect(policy(rules=[{"match": "crm.g*", "effect": "allow"}], ask=["crm.*t"])) == "ask"


def test_a_condition_makes_a_rule_more_specific_than_the_same_without() -> None:
    rules = [{"match": "pay.*", "effect": "allow", "when": "amount < 100"}, {"match": "pay.*", "effect": "ask"}]
    assert [effect(policy(rules=rules), "pay.send", amount=n) for n in (99, 100)] == ["allow", "ask"]


@pytest.mark.parametrize("arguments", [{}, {"amount": "1"}])
def test_a_condition_that_cannot_be_told_never_lets_more_pass(arguments: dict[str, Any]) -> None:
    def decided(rule_effect: str, default: str) -> str:
        made = policy(default=default, rules=[{"match": "pay.*", "effect": rule_effect, "when": "amount < 100"}])
        return effect(made, "pay.send", **arguments)

    assert [decided("allow", "ask"), decided("deny", "allow"), decided("ask", "allow"), decided("ask", "deny")] == [
        "ask",
        "deny",
        "ask",
        "deny",
    ]


def test_arguments_without_a_name_satisfy_no_condition() -> None:
    made = policy(default="deny", rules=[{"match": "pay.*", "effect": "allow", "when": "not exists amount"}])
    unnamed = ToolCall(id=1, tool="pay.send", arguments={}, positional=(1000,))
    assert (effect(made, "pay.send"), made.decide(unnamed, None).effect) == ("allow", "deny")


def test_rules_can_be_for_one_session_or_caller() -> None:
    made = policy(
        default="deny",
        rules=[{"match": "crm.*", "effect": "allow", "session": "night-*"}, {"match": "crm.*", "effect": "ask", "caller": "bob"}],
    )

    BOB, BOBBY = Identity(caller="bob"), Identity(caller="bobby")

    def by(**scope: Any) -> str:
        return made.decide(ToolCall(id=1, tool="crm.get", arguments={}, **scope), None).effect

    assert [by(), by(session="night-1"), by(session="day"), by(identity=BOB), by(identity=BOBBY)] == [
        "deny",
        "allow",
        "deny",
        "ask",
        "deny",
    ]


@pytest.mark.requirement("T38")
@pytest.mark.parametrize(("changed", "expected"), [("ask", "ask"), ("deny", "deny"), ("allow", "allow")])
def test_a_changed_definition_is_held_back_even_when_a_rule_allows_it(changed: str, expected: str) -> None:
    made = policy(allow=["crm.*"], changed_definitions=changed)
    assert made.decide(call(), READS, accepted=False).effect == expected
    assert made.decide(call(), READS).effect == "allow"


@pytest.mark.requirement("T38")
def test_annotations_of_a_changed_definition_do_not_count() -> None:
    found = policy(changed_definitions="allow").decide(call(), READS, accepted=False)
    assert (found.effect, found.read_only) == ("ask", False)


@pytest.mark.requirement("T38")
def test_annotations_never_outrank_a_rule_nor_contradict_themselves() -> None:
    lying = Tool(server="crm", name="get", annotations={"readOnlyHint": True, "destructiveHint": True})
    assert policy(ask=["crm.*"]).decide(call(), READS).effect == "ask"
    assert policy().decide(call(), lying).effect == "ask"


@pytest.mark.requirement("T19")
@pytest.mark.parametrize("tool", ["git.delete-file", "git.delete_file", "git.Delete_File", "git.\uff44elete_file"])
def test_another_spelling_does_not_get_past_a_deny(tool: str) -> None:
    assert effect(policy(default="allow", deny=["git.delete_*"]), tool) == "deny"


@pytest.mark.requirement("T19")
def test_only_the_exact_spelling_is_allowed() -> None:
    assert effect(policy(default="deny", allow=["git.get_file"]), "git.Get_File") == "deny"


def test_a_rule_says_how_long_its_answers_keep() -> None:
    made = policy(rules=[{"match": "crm.get", "effect": "allow", "cache": "5m"}])
    assert made.decide(call(), None) == Decision(effect="allow", rule='policy.rules allow "crm.get"', cache_seconds=300)


@pytest.mark.parametrize(
    "rule",
    [
        {"match": "crm", "effect": "allow"},
        {"match": [], "effect": "allow"},
        {"match": "crm.*", "effect": "maybe"},
        {"match": "crm.*", "effect": "allow", "cache": "soon"},
        {"match": "crm.*", "effect": "ask", "cache": "5m"},
    ],
)
def test_a_rule_that_means_nothing_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        policy(rules=[rule])


def test_a_condition_that_cannot_be_read_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError, match=r"policy\.rules\.0\.when"):
        policy(rules=[{"match": "crm.*", "effect": "deny", "when": "amount <"}])


def test_a_refusal_says_what_to_write() -> None:
    for config, said in (
        ({}, 'add allow = ["crm.get"] under [policy]'),
        ({"deny": ["crm.*"]}, "deny wins over allow: narrow or remove that rule"),
        ({"default": "deny"}, 'to allow it, add allow = ["crm.get"]'),
    ):
        made = policy(**config)
        decision = made.decide(call(), None)
        refused = made.build_refusal(call(), decision)
        assert said in refused.message
        assert refused.rule == decision.rule


def test_what_a_refusal_says_to_write_does_let_the_call_pass() -> None:
    made = policy(ask=["crm.g*"])
    assert 'allow = ["crm.get"]' in made.build_refusal(call(), made.decide(call(), None)).message
    assert effect(policy(ask=["crm.g*"], allow=["crm.get"])) == "allow"


def test_an_explanation_lists_every_rule_that_names_the_tool() -> None:
    made = policy(
        allow=["crm.*", "mail.*"],
        rules=[{"match": "crm.get", "effect": "ask", "when": "n > 5"}, {"match": "crm.get", "effect": "deny", "session": "x"}],
    )
    assert made.explain(call(n=1), None) == (
        ConsideredRule(rule="policy.rules deny \"crm.get\", session = 'x'", effect="deny", outcome="other session or caller"),
        ConsideredRule(rule="policy.rules ask \"crm.get\", when = 'n > 5'", effect="ask", outcome="condition does not hold"),
        ConsideredRule(rule='policy.allow "crm.*"', effect="allow", outcome="decides"),
    )
    assert made.explain(call("web.get"), None)[-1].rule == 'policy.default "annotations"'


def test_settings_that_let_anything_pass_are_named() -> None:
    assert policy(allow=["crm.*"]).permissive_settings == ()
    loud = policy(default="allow", changed_definitions="allow", allow=["*", "*.*"]).permissive_settings
    assert loud == ('policy.default "allow"', 'policy.changed_definitions "allow"', 'policy.allow "*.*"', 'policy.allow "*"')


def test_patterns_that_name_no_tool_are_found() -> None:
    made = policy(allow=["crm.*"], deny=["crn.delete"])
    assert made.find_unmatched_rules(frozenset({"crm.get"})) == ('policy.deny "crn.delete"',)


_patterns = st.sampled_from(["*", "a.*", "a.b", "a.b*", "a.?", "*.b", "a.bc", "c.*"])
_effects = st.sampled_from(["allow", "ask", "deny"])
_rules = st.builds(
    RuleConfig,
    match=st.tuples(_patterns),
    effect=_effects,
    when=st.sampled_from([None, "x < 5", "x == 'a'", "exists y", "not x"]),
    session=st.sampled_from(["*", "s*"]),
    caller=st.sampled_from(["*", "local"]),
)
_configs = st.builds(
    PolicyConfig,
    allow=st.lists(_patterns, max_size=2).map(tuple),
    ask=st.lists(_patterns, max_size=2).map(tuple),
    deny=st.lists(_patterns, max_size=1).map(tuple),
    rules=st.lists(_rules, max_size=4).map(tuple),
    default=st.sampled_from(["annotations", "allow", "ask", "deny"]),
)
_values = st.sampled_from(cast("list[Any]", [1, 9, "a", True, None, [], {}]))
_calls = st.builds(
    ToolCall,
    id=st.just(1),
    tool=st.sampled_from(["a.b", "a.bc", "a.x", "c.d", "A.B"]),
    arguments=st.dictionaries(st.sampled_from(["x", "y"]), _values),
    session=st.sampled_from([None, "s1", "t"]),
)


@given(_configs, _calls, st.randoms())
def test_the_order_of_rules_never_matters(config: PolicyConfig, made: ToolCall, chance: Any) -> None:
    def shuffled(entries: Any) -> Any:
        return tuple(chance.sample(entries, len(entries)))

    other = config.model_copy(update={name: shuffled(getattr(config, name)) for name in ("allow", "ask", "deny", "rules")})
    assert Policy.from_config(config).decide(made, None) == Policy.from_config(other).decide(made, None)


@given(_configs, st.lists(_calls, max_size=6))
def test_what_was_decided_before_changes_no_decision(config: PolicyConfig, calls: list[ToolCall]) -> None:
    seasoned = Policy.from_config(config)
    for each in [*calls, *calls]:
        assert seasoned.decide(each, None) == Policy.from_config(config).decide(each, None)


@given(_configs, _calls, _rules)
def test_adding_a_deny_never_lets_more_pass(config: PolicyConfig, made: ToolCall, rule: RuleConfig) -> None:
    denied = rule.model_copy(update={"effect": "deny"})
    before, after = (
        Policy.from_config(c).decide(made, None) for c in (config, config.model_copy(update={"rules": (*config.rules, denied)}))
    )
    assert ORDER[after.effect] >= ORDER[before.effect]


@given(_configs, _calls)
def test_leaving_arguments_out_of_allow_conditions_never_lets_more_pass(config: PolicyConfig, made: ToolCall) -> None:
    unnamed = ToolCall(id=1, tool=made.tool, arguments={}, positional=(1,), session=made.session)
    assert (
        ORDER[Policy.from_config(config).decide(unnamed, None).effect]
        >= ORDER[Policy.from_config(config).decide(made, None).effect]
    )


@given(_configs, _calls)
def test_the_rule_of_a_decision_is_one_that_explains_it(config: PolicyConfig, made: ToolCall) -> None:
    deciding = [each for each in Policy.from_config(config).explain(made, None) if each.outcome == "decides"]
    decision = Policy.from_config(config).decide(made, None)
    assert {(each.rule, each.effect) for each in deciding} == {(decision.rule, decision.effect)}
