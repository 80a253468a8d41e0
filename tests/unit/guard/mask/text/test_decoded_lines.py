"""What is written in another form is found, and only where it stands."""
# ruff: noqa: RUF001 (characters that look alike are what is tested)

import html
import json
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gristmill.guard.mask.detector import DetectionTargets, Detector
from gristmill.guard.mask.redactor import Redactor
from gristmill.guard.mask.text.decoded_lines import decode_lines, decode_text
from gristmill.guard.mask.text.plain_characters import fold_character
from gristmill.guard.mask.vault import MaskVault

DETECTOR = Detector()
KEY = b"a key of thirty-two bytes, no less"
FULL_WIDTH = {ord("!") + at: 0xFF01 + at for at in range(94)}
ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def found(text: str, detector: Detector = DETECTOR) -> list[tuple[str, str]]:
    return [(kind, text[start:end]) for start, end, kind in detector.find(text)]


def escape_all(text: str) -> str:
    return "".join(f"\\u{ord(each):04x}" for each in text)


HIDDEN = [
    # in JSON, in JSON inside of JSON, in JavaScript and Python
    ("EMAIL", "ann\\u0040example.com"), ("EMAIL", "ann\\\\u0040example.com"), ("EMAIL", "ann\\x40example.com"), ("EMAIL", "ann\\u{40}example.com"),
    ("EMAIL", escape_all("ann@example.com")), ("EMAIL", "ann\\uff20example.com"), ("CARD", escape_all("4111111111111111")),
    ("CARD", "\\ud835\\udfd2111111111111111"), ("CARD", "\\U0001d7d2111111111111111"), ("PHONE", "\\u002b49 30 901820"),
    # in URLs
    ("EMAIL", "ann%40example%2Ecom"), ("EMAIL", "ann%2540example.com"), ("EMAIL", "ann%252540example.com"), ("EMAIL", "%61nn@example.com"),
    ("PHONE", "%2B4930901820"), ("PHONE", "%2B49%2030%20901820"), ("CARD", "4111%201111%201111%201111"), ("CARD", "4111%2D1111%2d1111-1111"),
    ("IBAN", "DE89%203704%200044%200532%200130%2000"),
    # in HTML
    ("EMAIL", "ann&#64;example.com"), ("EMAIL", "ann&#x40;example.com"), ("EMAIL", "ann&commat;example&period;com"),
    ("CARD", "4111&nbsp;1111&nbsp;1111&nbsp;1111"), ("PHONE", "&plus;49 30 901820"),
    # characters that look alike
    ("EMAIL", "ann＠example.com"), ("EMAIL", "ann@example。com"), ("EMAIL", "ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ"), ("EMAIL", "ann﹫example.com"),
    ("CARD", "４１１１１１１１１１１１１１１１"), ("CARD", "４１１１ 1111 1111 1111"), ("CARD", "4111111111111111".translate(ARABIC)), ("CARD", "𝟒𝟏𝟏𝟏111111111111"),
    ("CARD", "4111\u00a01111\u00a01111\u00a01111"), ("CARD", "4111–1111–1111–1111"), ("CARD", "４１１１－１１１１－１１１１－１１１１"),
    ("PHONE", "＋４９ ３０ ９０１８２０"), ("SSN", "078\u201105\u20111120"), ("IBAN", "DE89\u20093704\u20090044\u20090532\u20090130\u200900"),
    # invisible characters
    ("EMAIL", "ann\u200b@example.com"), ("EMAIL", "ann@exa\u00admple.com"), ("EMAIL", "a\u2060n\u2060n@example.com"), ("EMAIL", "ann@example\ufeff.com"),
    ("EMAIL", "rene\u0301@example.com"), ("CARD", "4111\u200b1111\u200b1111\u200b1111"), ("CARD", "4\u20661\u20691\u200e1\ufe0f111111111111"),
    ("PHONE", "+49\u200b30901820"), ("SECRET", "AKIA\u200bIOSFODNN7EXAMPLE"), ("SECRET", "g\u200chp_" + "a1B2" * 9),
]  # fmt: skip
AROUND = ("{}", "see {}, please", '"{}"', "<td>{}</td>", "x\n{}\ny", "价格 {} 元", "50% & more: {}", '{{\\"a\\": \\"{}\\"}}')


@pytest.mark.parametrize(("kind", "value"), HIDDEN)
def test_a_value_in_another_form_is_found_exactly_wherever_it_stands(kind: str, value: str) -> None:
    assert {around: found(around.format(value)) for around in AROUND} == {around: [(kind, value)] for around in AROUND}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("https://x.test/?card=4111+1111+1111+1111&y=1", ["4111+1111+1111+1111"]),
        ("https://x.test/?a=b&phone=+49+30+901820", ["+49+30+901820"]),
        ("https://x.test/?iban=DE89+3704+0044+0532+0130+00", ["DE89+3704+0044+0532+0130+00"]),
        ("total=200+300+4000 and 200+300+4000?", []),
        ("4111+1111+1111+1111", []),
    ],
)
def test_a_plus_is_a_space_in_the_query_of_a_url_only(text: str, values: list[str]) -> None:
    assert [value for _, value in found(text)] == values


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("line\\n4111111111111111", "CARD", "4111111111111111"),
        ("line\\n+4930901820\\n", "PHONE", "+4930901820"),
        ("\\tann@example.com", "EMAIL", "ann@example.com"),
        ("\\u003cann@example.com\\u003e", "EMAIL", "ann@example.com"),
        ("x%3D4111111111111111", "CARD", "4111111111111111"),
        ("&nbsp;4111111111111111&nbsp;", "CARD", "4111111111111111"),
        ("password\\u003dhunter22", "SECRET", "hunter22"),
    ],
)
def test_an_escape_beside_a_value_does_not_belong_to_it(text: str, kind: str, value: str) -> None:
    assert found(text) == [(kind, value)]


NOTHING = [
    "100%25", "50%20off", "caf%C3%A9", "&lt;b&gt;", "AT&amp;T;", "&bogus;", "\\u00e9t\\u00e9", "\\\\server\\new\\table", "C:\\new\\x86\\build",
    "1990–1995", "Bonjour\u00a0!", "１９９０年", "می\u200cخواهم", "👨\u200d👩\u200d👧", "①②③", "½ cup", "x²+y²", "نسخه ۱۲۳۴۵۶۷۸۹", "\\ud800", "%", "&", "\\",
    "10\u202f000\u202f000", "\\u0000", "%00", "4111\\u00411111111111",
]  # fmt: skip


@pytest.mark.parametrize("text", NOTHING)
def test_what_hides_nothing_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_names_patterns_and_credentials_are_found_in_other_forms_too() -> None:
    detector = Detector(
        DetectionTargets(names=("Ann Smith",), patterns={"employee": r"EMP-\d{6}"}, literals=frozenset({"s3cret-word"}))
    )
    text = "Ann%20Smith ＥＭＰ－１２３４５６ s3cret\\u002dword"
    assert found(text, detector) == [
        ("NAME", "Ann%20Smith"),
        ("EMPLOYEE", "ＥＭＰ－１２３４５６"),
        ("CREDENTIAL", "s3cret\\u002dword"),
    ]


def test_the_name_of_a_field_counts_for_other_digits_too() -> None:
    ours = Redactor(MaskVault(KEY), DETECTOR)
    row = {"phone": "５５５２２３４５６７", "ssn": "078\u200b051120"}
    masked = ours.mask(row)
    assert ([text[:5] for text in masked.values()], ours.unmask(masked)) == (["<PHON", "<SSN_"], row)


def test_json_inside_of_json_stays_readable() -> None:
    ours = Redactor(MaskVault(KEY), DETECTOR)
    inner = json.dumps({"mail": "ann@example.com", "note": "first\n4111111111111111\tbob@example.com"}).replace("@", "\\u0040")
    masked = ours.mask({"body": inner, "again": json.dumps(inner)})
    assert json.loads(masked["body"])["note"].split()[0] == "first"
    assert [word[:6] for word in json.loads(masked["body"])["note"].split()[1:]] == ["<CARD_", "<EMAIL"]
    assert json.loads(json.loads(masked["again"])).keys() == {"mail", "note"}
    assert (ours.unmask(masked), ours.mask(masked)) == ({"body": inner, "again": json.dumps(inner)}, masked)


def test_what_a_mask_reveals_beside_it_is_masked_too() -> None:
    ours = Redactor(MaskVault(KEY), DETECTOR)
    for text in ("ann@example.com\\u0034111111111111111", "+493090182&#48;DE89370400440532013000", "x@y.example%2b4930901820"):
        masked = ours.mask_text(text)
        assert (ours.mask_text(masked), ours.unmask(masked)) == (masked, text)
        assert not any(each in masked for each in ("11111111", "49309018", "ann@"))


PLAIN = st.text(alphabet="ab1@. +-%&;\\u0041n\n", max_size=12)


@given(
    st.lists(
        st.one_of(PLAIN, st.sampled_from(["\\u0040", "%40", "&#64;", "＠", "\u200b", "\\n", "ann@example.com"])), max_size=10
    )
)
@example(["\\", "\\u0040"])
def test_every_place_of_the_decoded_text_has_its_place_in_the_text(parts: list[str]) -> None:
    text = "".join(parts)
    decoded = decode_lines(text)
    if decoded is None:
        return
    places = [decoded.locate([(at, at + 1, "")])[0][:2] for at in range(len(decoded.text))]
    assert places == sorted(places)
    for (start, end), character in zip(places, decoded.text, strict=True):
        assert 0 <= start <= end <= len(text)
        if character.isalnum() and end - start == 1:
            assert text[start:end] == character or fold_character(text[start:end]) == character


@given(st.text(alphabet=[chr(at) for at in range(32, 127) if chr(at) not in "%&\\+"], max_size=40))
def test_quoted_texts_decode_to_what_was_quoted(text: str) -> None:
    assert decode_text(quote(text, safe="")) == decode_text(html.escape(text)) == decode_text(escape_all(text)) == text
