"""What came from one server does not reach another that a rule forbids."""

import json
from typing import Any
from urllib.parse import quote

import anyio
import pytest

from gristmill.config.sections.flows_section import FlowRule
from gristmill.errors import CallRefused, ToolFailed
from gristmill.guard.mask.detector import Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.guard.policy.flow_labels import FlowLabels
from gristmill.guard.policy.flow_rules import MOST_CHARACTERS, FlowLayer, FlowRules
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


def seen(*rules: str, **options: Any) -> FlowRules:
    flows = FlowRules(rules or (RULE,), **options)
    flows.remember("crm.get", {"rows": [CUSTOMER]})
    return flows


def sends(flows: FlowRules, value: Json, tool: str = "web.fetch") -> str | None:
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
    flows = FlowRules(["crm.get* -> web.post", "hr -> web"])
    flows.remember("crm.get_one", ["from crm get"])
    flows.remember("crm.list", ["from crm list"])
    flows.remember("other.get", ["from another"])
    values = ("from crm get", "from crm list", "from another")
    assert [sends(flows, value, "web.post") for value in values] == ["flows.deny: crm.get* -> web.post", None, None]
    assert [sends(flows, value, "web.get") for value in values] == [None, None, None]
    assert sends(flows, "from crm get", "crm.update") is None


def test_a_rule_holds_for_values_and_for_their_masks() -> None:
    redactor = Redactor(MaskVault(b"k" * 32), Detector())
    flows = FlowRules([RULE], resolve=redactor.unmask)
    mask = redactor.mask_text("ann@example.com")
    flows.remember("crm.get", {"mail": mask})
    assert (sends(flows, mask), sends(flows, "ann@example.com"), sends(flows, f"to {mask}")) == (f"flows.deny: {RULE}",) * 3


def test_when_more_was_seen_than_is_kept_every_call_is_refused() -> None:
    assert sends(seen(most=2), "weather in Berlin") == f"flows.deny: {RULE}"


def test_after_a_restart_every_call_is_refused_that_could_carry_what_was_seen_before() -> None:
    flows = FlowRules([RULE], seen_before=("crm",))
    assert (sends(flows, "weather"), sends(flows, "weather", "files.write"), sends(FlowRules([RULE]), "weather")) == (
        f"flows.deny: {RULE}",
        None,
        None,
    )


def test_arguments_that_are_too_large_to_be_checked_are_refused() -> None:
    assert sends(seen(), "-" * (MOST_CHARACTERS + 1)) == f"flows.deny: {RULE}"


@pytest.mark.parametrize("text", ["crm", "crm ->", "-> web", "crm -> web -> x", "crm => web", "a b -> c", "a -> b>c", ""])
def test_a_rule_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="crm -> web"):
        FlowRule.parse(text)


def test_the_layer_refuses_before_the_call_leaves() -> None:
    layer = FlowLayer(FlowRules([RULE]))
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
    labels = FlowLabels()
    labels.remember(["order number 1"])
    values = [f"order number {number}" for number in range(20)]
    labels.remember(values)
    assert [value for value in values if not labels.contains_seen_value(f"about {value}")] == []


def test_a_long_text_is_known_by_its_pieces_also_when_one_of_them_was_seen_alone() -> None:
    labels = FlowLabels()
    pieces = ["The quick brown fox jumps over a", " lazy dog and then sleeps for ho", "urs under the old apple tree 123"]
    labels.remember([pieces[1].strip(), pieces[0]])
    labels.remember(["".join(pieces)])
    assert [piece for piece in pieces if not labels.contains_seen_value(f"xx {piece} yy")] == []


def _answered(result: ToolResult | Exception) -> FlowRules:
    """The rules of a session after one call of the source with that answer."""
    flows = FlowRules([RULE])

    async def proceed(_call: ToolCall) -> ToolResult:
        if isinstance(result, Exception):
            raise result
        return result

    async def story() -> None:
        try:
            await FlowLayer(flows)(ToolCall(id=1, tool="crm.get", arguments={}), proceed)
        except ToolFailed:
            pass

    anyio.run(story)
    return flows


@pytest.mark.requirement("T94")
@pytest.mark.parametrize("value", ["Ann@Example.com", "Winterbottom 7", "see ann@example.com", "DE89370400440532013000"])
def test_what_came_in_a_file_or_in_an_error_is_refused_too(value: str) -> None:
    table = "name,mail,iban\nWinterbottom 7,ann@example.com,DE89370400440532013000\n"
    file = _answered(ToolResult(value={"file": "media/1.csv"}, files={"media/1.csv": table.encode()}))
    wide = _answered(ToolResult(value={"file": "media/1.csv"}, files={"media/1.csv": table.encode("utf-16")}))
    listed = _answered(ToolResult(value=None, files={"media/1.json": json.dumps({"rows": table.split(",")}).encode()}))
    error = _answered(ToolFailed("no such customer: 'Winterbottom 7', mail <ann@example.com>, iban=DE89370400440532013000"))
    failed = _answered(ToolResult(value=table, is_error=True))
    assert [sends(flows, value) for flows in (file, wide, failed)] == [f"flows.deny: {RULE}"] * 3
    assert " " in value or [sends(flows, value) for flows in (listed, error)] == [f"flows.deny: {RULE}"] * 2
    assert [sends(flows, "weather in Berlin") for flows in (file, wide, listed, error, failed)] == [None] * 5


@pytest.mark.requirement("T94")
def test_after_a_file_that_cannot_be_looked_into_every_call_is_refused() -> None:
    for content in (b"\x89PNG\r\n\x1a\n\0", b"%PDF-1.4", b"\xff\xff"):
        flows = _answered(ToolResult(value={"file": "media/1.png"}, files={"media/1.png": content}))
        assert (sends(flows, "weather"), sends(flows, "weather", "files.write")) == (f"flows.deny: {RULE}", None)


@pytest.mark.requirement("T94")
def test_what_another_session_has_seen_is_inherited() -> None:
    known, unknown = FlowRules([RULE]), FlowRules([RULE])
    known.inherit(("crm.get",), seen())
    unknown.inherit(("crm.get",))
    assert (sends(known, "who is Ann Smith?"), sends(known, "weather")) == (f"flows.deny: {RULE}", None)
    assert sends(unknown, "weather") == f"flows.deny: {RULE}"
