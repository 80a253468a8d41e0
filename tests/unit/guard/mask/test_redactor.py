"""Masks: stable, typed, reversible for their session and for nobody else."""

import html
import json
import math
import re
from collections.abc import Callable
from typing import cast
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.mask.placeholders import PLACEHOLDER, find_placeholders
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.vault import MaskVault
from gristmill.model import Json

KEY = b"a key of thirty-two bytes, no less"
DETECTOR = Detector(DetectionTargets(names=("Ann Smith",), patterns={"employee": r"EMP-\d{6}", "any": r"x{3}[^y]*y"}))
FORM = re.compile(r"<[A-Z][A-Z0-9_]*_[a-z]{10}>")


def redactor(key: bytes = KEY, detector: Detector = DETECTOR) -> Redactor:
    return Redactor(MaskVault(key), detector)


def test_the_shape_of_a_value_stays_and_its_personal_parts_go() -> None:
    ours = redactor()
    row = {"id": 7, "mail": "ann@example.com", "tags": ["new", "Ann Smith"], "ok": True, "none": None, "ann@example.com": 1.5}
    masked = ours.mask(row)
    mail, name = masked["mail"], masked["tags"][1]
    assert masked == {"id": 7, "mail": mail, "tags": ["new", name], "ok": True, "none": None, mail: 1.5}
    assert (FORM.fullmatch(mail), FORM.fullmatch(name)) != (None, None)
    assert (mail[:7], name[:6]) == ("<EMAIL_", "<NAME_")
    assert list(masked) == ["id", "mail", "tags", "ok", "none", mail]


def test_a_value_without_findings_is_given_back_itself() -> None:
    row = {"id": 7, "status": ["open", "2024-05-01"]}
    assert redactor().mask(row) is row


def test_a_long_table_is_masked_as_its_rows_are() -> None:
    rows: list[Json] = [
        {"mail": f"ann{at}@example.com", "note": f"call +49 30 {at + 10**6} EMP-{at + 10**5}"} for at in range(2_500)
    ]
    ours = redactor()
    masked = ours.mask(rows)
    assert masked == [redactor().mask(row) for row in rows]
    assert ours.unmask(masked) == rows


def test_equal_values_have_equal_masks_so_that_code_can_join_and_group() -> None:
    ours = redactor()
    customers = ours.mask([{"mail": "ann@example.com", "id": 1}, {"mail": "bob@example.com", "id": 2}])
    orders = ours.mask([{"by": "bob@example.com"}, {"by": "ann@example.com"}, {"by": "bob@example.com"}])
    ids = {customer["mail"]: customer["id"] for customer in customers}
    assert [ids[order["by"]] for order in orders] == [2, 1, 2]


def test_masks_of_another_session_differ_and_stay_closed() -> None:
    ours, theirs = redactor(), redactor(b"another key of thirty-two bytes!")
    mine, other = ours.mask_text("ann@example.com"), theirs.mask_text("ann@example.com")
    assert mine != other
    assert (ours.unmask(other), theirs.unmask(mine)) == (other, mine)


def test_masks_survive_a_restart_with_the_entries_that_were_kept() -> None:
    kept: dict[str, str] = {}
    kinds: list[str] = []

    def keep(mask: str, value: str, kind: str) -> None:
        kept[mask] = value
        kinds.append(kind)

    first = Redactor(MaskVault(KEY, on_new=keep), DETECTOR)
    masked = first.mask(["ann@example.com", "ann@example.com", "+49 30 901820"])
    told: list[str] = []
    second = Redactor(MaskVault(KEY, kept, lambda mask, value, kind: told.append(mask)), DETECTOR)
    assert (second.unmask(masked), second.mask_text("ann@example.com")) == (
        ["ann@example.com", "ann@example.com", "+49 30 901820"],
        masked[0],
    )
    assert (kinds, told) == (["EMAIL", "PHONE"], [])


def test_what_looks_like_a_mask_but_is_none_is_left_as_it_is() -> None:
    ours = redactor()
    ours.mask_text("ann@example.com")
    fake = "<EMAIL_abcdefghij> and <EMAIL_>, <<EMAIL_abcdefghij, <NAME_ABC>"
    assert (ours.mask_text(fake), ours.unmask(fake)) == (fake, fake)


def test_personal_data_inside_of_what_looks_like_a_mask_is_masked() -> None:
    ours = Redactor(MaskVault(KEY), Detector(DetectionTargets(patterns={"code": "abcde"})))
    ours.mask_text("ann@example.com")
    assert "abcde" not in ours.mask_text("<EMAIL_abcdefghij>")


def test_masks_are_restored_inside_of_longer_texts_and_names_of_fields() -> None:
    ours = redactor()
    mail = ours.mask_text("ann@example.com")
    assert ours.unmask({mail: [f"To: {mail}; cc {mail}{mail}"]}) == {
        "ann@example.com": ["To: ann@example.com; cc ann@example.comann@example.com"]
    }


def quoted(text: str) -> str:
    return quote(text, safe="")


@pytest.mark.parametrize("change", [str.lower, str.upper, str.title, str.strip, quoted, html.escape])
def test_what_code_does_to_a_mask_is_done_to_the_value(change: Callable[[str], str]) -> None:
    ours = redactor()
    mask = ours.mask_text("Ann.Smith+x@Example.com")
    assert ours.unmask(change(mask)) == change("Ann.Smith+x@Example.com")


def test_a_mask_quoted_by_a_strict_json_writer_is_restored_as_json() -> None:
    ours = Redactor(MaskVault(KEY), Detector(DetectionTargets(patterns={"quoted": '"[a-z]+"'})))
    mask = ours.mask_text('"word"')
    text = json.dumps([mask]).replace("<", "\\u003c").replace(">", "\\u003e")
    assert json.loads(cast("str", ours.unmask(text))) == ['"word"']


@pytest.mark.parametrize("count", [1, 40])
def test_a_card_is_found_as_a_float_in_a_value_and_in_a_text(count: int) -> None:
    ours = redactor()
    rows: list[Json] = [
        {"paid": 4111111111111111.0, "phone": 4930901820.0, "sum": 10.5, "rest": None, "no": 4930901820.0}
    ] * count
    rows[0] = rows[0] | {"rest": 378282246310005.0}
    masked = ours.mask(rows)
    assert {row["paid"] for row in masked} == {ours.mask(4111111111111111)}
    assert (masked[0]["rest"], masked[-1]["phone"][:14]) == (ours.mask(378282246310005), "<PHONE_NUMBER_")
    assert (masked[-1]["sum"], masked[-1]["no"], ours.unmask(masked)) == (10.5, 4930901820.0, rows)
    odd: Json = {"phone": [math.inf, math.nan, 4.5, 1e300], "card": [math.inf, math.nan, 4.5e15, 4111111111111111.5]}
    assert ours.mask(odd) is odd
    texts = (
        "4111111111111111.0",
        "4111-1111-1111-1111.00.",
        "4111111111111111.0.1",
        "4111111111111111.05",
        "4111111111111111.50",
    )
    assert [FORM.sub("#", ours.mask_text(text)) for text in texts] == ["#.0", "#.00.", *texts[2:]]


def test_numbers_become_masks_and_numbers_again() -> None:
    ours = redactor()
    row = {"card": 4111111111111111, "phone": 5552234567, "id": 5552234567, "big": 10**400, "phones": [4930901820, "4930901820"]}
    masked = ours.mask(row)
    assert {name: type(value) for name, value in masked.items()} == {
        "card": str,
        "phone": str,
        "id": int,
        "big": int,
        "phones": list,
    }
    assert (ours.unmask(masked), ours.unmask(f"no. {masked['card']}")) == (row, "no. 4111111111111111")


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("password", "hunter2", "SECRET"), ("userPassword", "correct horse battery", "SECRET"), ("DB_PASSWORD", "pässwörd", "SECRET"),
        ("client_secret", "abcd", "SECRET"), ("apiKey", "k3y-0123456789abcdef", "SECRET"), ("X-Api-Key", "0123456789abcdef", "SECRET"),
        ("access_token", "2YotnFZFEjr1zCsicMWpAA", "SECRET"), ("phone", "5552234567", "PHONE"), ("mobileNumber", "0171 1234567", "PHONE"),
        ("ssn", "078051120", "SSN"), ("card_number", "9999 9999 9999 9995", "CARD"), ("phones", "030901820", "PHONE"),
    ],
)  # fmt: skip
def test_the_name_of_a_field_gives_its_value_away(name: str, value: str, kind: str) -> None:
    ours = redactor()
    masked = ours.mask([{name: value}, {name: [value]}])
    assert masked[0][name] == masked[1][name][0]
    assert (masked[0][name].startswith(f"<{kind}_"), ours.unmask(masked)) == (True, [{name: value}, {name: [value]}])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("password_changed_at", "2024-05-01"), ("password", None), ("password", True), ("password", "********"), ("token", "open"),
        ("next_page_token", "2YotnFZFEjr1zCsicMWpAA"), ("max_tokens", 4096), ("key", "PROJ-123456789012345"), ("primary_key", "customer_id_1234567"),
        ("phone_type", "mobile"), ("phone", "none"), ("telemetry", "5552234567"), ("card_type", "visa"), ("description", "phone"), ("secretary", "Bob Jones"),
    ],
)  # fmt: skip
def test_other_fields_and_empty_ones_are_left_alone(name: str, value: Json) -> None:
    assert redactor().mask({name: value}) == {name: value}


def test_a_credential_of_the_gateway_never_comes_back() -> None:
    kept: list[str] = []
    vault = MaskVault(KEY, on_new=lambda mask, value, kind: kept.append(value))
    ours = Redactor(vault, Detector(DetectionTargets(literals=frozenset({"gateway-s3cret"}))))
    masked = ours.mask({"token": "gateway-s3cret", "text": "password=gateway-s3cret!"})
    assert "s3cret" not in str(masked)
    assert (ours.unmask(masked), ours.mask(masked), kept) == (masked, masked, [])


def test_a_full_vault_still_masks_but_does_not_give_back() -> None:
    ours = Redactor(MaskVault(KEY, most=1), DETECTOR)
    masked = ours.mask(["ann@example.com", "bob@example.com"])
    assert (ours.unmask(masked)[0], ours.unmask(masked)[1], "bob" in str(masked)) == ("ann@example.com", masked[1], False)


def test_two_values_never_share_a_mask() -> None:
    vault = MaskVault(KEY)
    first = vault.placeholder("EMAIL", "ann@example.com")
    # As if the hashes of two values were the same: the entry is taken by another value.
    crowded = MaskVault(KEY, {first: "somebody@example.com"})
    second = crowded.placeholder("EMAIL", "ann@example.com")
    ours = Redactor(crowded, DETECTOR)
    assert (second != first, ours.unmask([first, second])) == (True, ["somebody@example.com", "ann@example.com"])


def test_a_pattern_that_reaches_across_a_mask_is_masked_on_both_sides_of_it() -> None:
    ours = redactor(detector=Detector(DetectionTargets(patterns={"note": "id:[^@]{1,40};"})))
    alone, among = ours.mask_text("id: ann@example.com;"), ours.mask(["id: ann@example.com;", *map(str, range(20))])
    assert (FORM.sub("", alone), among[0], ours.unmask(alone)) == ("", alone, "id: ann@example.com;")


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        MaskVault(b"short").placeholder("EMAIL", "ada@example.org")


def test_what_was_masked_is_counted_by_kind() -> None:
    ours = redactor()
    ours.mask({"a": "ann@example.com bob@example.com", "b": "+49 30 901820"})
    ours.mask_text("ann@example.com")
    assert ours.count == {"EMAIL": 3, "PHONE": 1}


def test_a_value_nested_very_deep_is_masked_and_restored() -> None:
    deep: Json = "ann@example.com"
    for level in range(20_000):
        deep = [deep] if level % 2 else {"a": deep}
    ours = redactor()
    masked = ours.mask(deep)
    restored = ours.unmask(masked)
    for level in reversed(range(20_000)):
        inside = 0 if level % 2 else "a"
        masked, restored = masked[inside], restored[inside]
    assert (FORM.fullmatch(masked) is not None, restored) == (True, "ann@example.com")


PERSONAL = (
    "ann@example.com", "bob.b+x@mail.example.org", "+49 30 901820", "(555) 223-4567", "0171-1234567", "4111 1111 1111 1111",
    "378282246310005", "DE89 3704 0044 0532 0130 00", "078-05-1120", "AKIA" + "IOSFODNN7EXAMPLE", "ghp_" + "a1B2" * 9,
    "password=hunter2", "postgres://u:p4ssw0rd@h", "Ann Smith", "EMP-123456", "xxx zy", "Bearer 0123456789abcdef0",
)  # fmt: skip
GLUE = st.text(alphabet=" ,;:<>@+-_.()/='\"\\\n\0\ud800éx0123456789aA|&%$", max_size=6)
FORMS = (
    "\\n",
    "\\t",
    "\\u0040",
    "\\u0034",
    "\\\\u002b",
    "%40",
    "%2B",
    "%2540",
    "%31",
    "&#64;",
    "&#49;",
    "&lt;",
    "\u200b",
    "\uff20",
    "\uff14",
    "\u2013",
    "\u00a0",
)
"""Characters in other forms, which can join or part what is beside them."""
TEXTS = st.lists(st.one_of(st.sampled_from(PERSONAL), GLUE, st.sampled_from(FORMS)), max_size=8).map("".join)
NAMES = st.one_of(TEXTS, st.sampled_from(("password", "phone", "token", "cards", "note")))
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.just(4111111111111111),
        st.floats(allow_nan=False),
        TEXTS,
        st.text(max_size=10),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(NAMES, inner, max_size=5)),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(VALUES)
@example(["+4930901820,ann@example.com", "<ann@example.com>", "ann@example.com@example.com"])
@example({"token": "ann@example.com:0123456789abcdef"})
@example(["0078-05-1120", *(f"+49 30 {number}" for number in range(901820, 901829))])
def test_every_value_comes_back_as_it_was_and_is_masked_once_and_for_all(value: Json) -> None:
    ours = redactor()
    masked = ours.mask(value)
    assert ours.unmask(masked) == value
    assert ours.mask(masked) == masked
    assert redactor().mask(value) == masked


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_nothing_that_is_found_is_left_in_a_masked_text(text: str) -> None:
    masked = redactor().mask_text(text)
    left = FORM.sub(lambda match: "\0" * len(match[0]), masked)
    assert DETECTOR.find(left) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=6))
def test_texts_are_masked_alike_alone_and_together(texts: list[str]) -> None:
    ours = redactor()
    assert ours.mask(texts) == [ours.mask_text(text) for text in texts]


PARTS = st.sampled_from(
    [
        "ann@example.com", "bob@example.org", "+49 30 901820", "4111 1111 1111 1111", "4111111111111111", "-----BEGIN PRIVATE KEY-----", "\nMIIE",
        "password=hunter22", "\0", "\n", "\n\0\n", " ", "(", "1", "x", "/", "<EMAIL_abcdefghij>", "é", "Ann Smith", "@", "sk-", "DE89370400440532013000",
        *FORMS,
    ]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(st.lists(PARTS, max_size=6).map("".join), max_size=8, unique=True))
@example(["-----BEGIN PRIVATE KEY-----\nMIIE", "next"])
@example(["x\n\0\ny ann@example.com", "-----BEGIN PRIVATE KEY-----"])
@example(["(ann@example.com4111111111111111", "1ann@example.com"])
def test_strings_of_one_value_are_masked_as_each_alone(texts: list[str]) -> None:
    detector = Detector(DetectionTargets(names=("Ann Smith",)))
    together, alone = redactor(detector=detector), redactor(detector=detector)
    assert together.mask(texts) == [alone.mask_text(text) for text in texts]
    assert together.count.keys() == alone.count.keys()


@settings(max_examples=200)
@given(st.lists(st.lists(PARTS, max_size=6).map("".join), max_size=8))
@example(["to ann@example.com\n\0", "to bob@example.org"])
def test_what_was_masked_together_is_restored_together(texts: list[str]) -> None:
    ours = redactor(detector=Detector())
    assert ours.unmask(ours.mask({"all": texts})) == {"all": texts}


CORES = st.lists(
    st.sampled_from(
        ["<", "%3C", "&lt;", "\\u003c", "EMAIL_", "abcdefghij", "_", "A9", ">", "%3e", "&gt;", "\\u003E", "é", "K", " "]
    ),
    max_size=14,
)


@given(CORES.map("".join))
@example("<A_abcdefghij><B_abcdefghij>%3CEMAIL_ABCDEFGHIJ%3E")
@example("<" + "A" * 41 + "_abcdefghij>" + "<" + "A" * 42 + "_abcdefghij>")
def test_placeholders_are_found_by_their_ends_as_by_the_whole_pattern(text: str) -> None:
    assert [match.span() for match in find_placeholders(text)] == [match.span() for match in PLACEHOLDER.finditer(text)]
