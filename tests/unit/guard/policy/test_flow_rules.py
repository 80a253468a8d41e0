"""What came from one server does not reach another that a rule forbids."""

from typing import Any
from urllib.parse import quote

import anyio
import pytest

from gristmill.errors import CallRefused
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import Vault
from gristmill.guard.policy.flow_labels import Labels
from gristmill.guard.policy.flow_rules import MOST_CHARACTERS, FlowLayer, FlowRule, Flows
from gristmill.model import Json, ToolCall, ToolResult

RULE = "crm -> web.*"
LETTER = "Dear Ann, thank you for your order of 12 May; we regret that the blue lamp cannot be shipped before June. Yours, Bob"
CUSTOMER = {
    "name": "Ann Smith",
    "mail": "Ann@Example.com",
    "no": 87654321,
    "balance": 1234.56789,
    "word": "customer",
    "letter": LETTER,
    "x": "ab",
}


def seen(*rules: str, **options: Any) -> Flows:
    flows = Flows(rules or (RULE,), **options)
    flows.remember("crm.get", {"rows": [CUSTOMER]})
    return flows


def sends(flows: Flows, value: Json, tool: str = "web.fetch") -> str | None:
    """The rule that refuses it."""
    try:
        flows.check(ToolCall(id=1, tool=tool, arguments={"q": [{"inner": value}]}))
    except CallRefused as refusal:
        return refusal.rule
    return None


@pytest.mark.parametrize(
    "value",
    [
        "Ann Smith", "ann smith", "ANN@EXAMPLE.COM", 87654321, "87654321", 1234.56789, "customer", LETTER,
        "who is Ann Smith?", "https://x.example/?q=" + quote("Ann@Example.com"), "https://x.example/?q=ann+smith", "no87654321x",
        "they wrote: " + LETTER[20:100], {"ann smith": 1}, ["a", ["Ann Smith"]],
    ],
)  # fmt: skip
def test_a_value_is_refused_whole_inside_of_a_text_in_another_case_or_in_pieces(value: Json) -> None:
    assert sends(seen(), value) == f"flows.deny: {RULE}"


@pytest.mark.parametrize(
    "value",
    [
        "weather in Berlin",
        "customer support in Berlin",
        "ab",
        "Ann",
        765,
        True,
        None,
        "rows",
        "letter",
        {"mail": "bob@example.com"},
    ],
)
def test_other_values_and_mere_words_inside_of_texts_pass(value: Json) -> None:
    assert sends(seen(), value) is None


def test_a_rule_holds_for_its_source_and_its_sink_only() -> None:
    flows = Flows(["crm.get* -> web.post", "hr -> web"])
    flows.remember("crm.get_one", ["from crm get"])
    flows.remember("crm.list", ["from crm list"])
    flows.remember("other.get", ["from another"])
    values = ("from crm get", "from crm list", "from another")
    assert [sends(flows, value, "web.post") for value in values] == ["flows.deny: crm.get* -> web.post", None, None]
    assert [sends(flows, value, "web.get") for value in values] == [None, None, None]
    assert sends(flows, "from crm get", "crm.update") is None


def test_a_rule_holds_for_values_and_for_their_masks() -> None:
    redactor = Redactor(Vault(b"k" * 32), Detector())
    flows = Flows([RULE], resolve=redactor.unmask)
    mask = redactor.mask_text("ann@example.com")
    flows.remember("crm.get", {"mail": mask})
    assert (sends(flows, mask), sends(flows, "ann@example.com"), sends(flows, f"to {mask}")) == (f"flows.deny: {RULE}",) * 3


def test_when_more_was_seen_than_is_kept_every_call_is_refused() -> None:
    assert sends(seen(most=2), "weather in Berlin") == f"flows.deny: {RULE}"


def test_after_a_restart_every_call_is_refused_that_could_carry_what_was_seen_before() -> None:
    flows = Flows([RULE], seen_before=("crm",))
    assert (sends(flows, "weather"), sends(flows, "weather", "files.write"), sends(Flows([RULE]), "weather")) == (
        f"flows.deny: {RULE}",
        None,
        None,
    )


def test_arguments_that_are_too_large_to_be_checked_are_refused() -> None:
    assert sends(seen(), "-" * (MOST_CHARACTERS + 1)) == f"flows.deny: {RULE}"


@pytest.mark.parametrize("text", ["crm", "crm ->", "-> web", "crm -> web -> x", "crm => web", "a b -> c", ""])
def test_a_rule_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="crm -> web"):
        FlowRule.parse(text)


def test_the_layer_refuses_before_the_call_leaves() -> None:
    layer = FlowLayer(Flows([RULE]))
    left: list[str] = []

    async def proceed(call: ToolCall) -> ToolResult:
        left.append(call.tool)
        return ToolResult(value=CUSTOMER)

    async def story() -> None:
        await layer(ToolCall(id=1, tool="web.fetch", arguments={"q": "Ann Smith"}), proceed)
        await layer(ToolCall(id=2, tool="crm.get", arguments={}), proceed)
        await layer(ToolCall(id=3, tool="web.fetch", arguments={"q": "Ann Smith"}), proceed)

    with pytest.raises(CallRefused) as caught:
        anyio.run(story)
    assert (left, caught.value.rule) == (["web.fetch", "crm.get"], f"flows.deny: {RULE}")


def test_new_values_are_remembered_beside_those_that_were_seen_before() -> None:
    labels = Labels()
    labels.remember(["order number 1"])
    values = [f"order number {number}" for number in range(20)]
    labels.remember(values)
    assert [value for value in values if not labels.holds(f"about {value}")] == []


def test_a_long_text_is_known_by_its_pieces_also_when_one_of_them_was_seen_alone() -> None:
    labels = Labels()
    pieces = ["The quick brown fox jumps over a", " lazy dog and then sleeps for ho", "urs under the old apple tree 123"]
    labels.remember([pieces[1].strip(), pieces[0]])
    labels.remember(["".join(pieces)])
    assert [piece for piece in pieces if not labels.holds(f"xx {piece} yy")] == []
