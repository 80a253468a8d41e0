"""Text as the pages show it: nothing in it hides, nothing turns it around."""

import sys
from typing import Any

from gristmill.catalog.visible_text import find_hidden_runs
from tests.unit.serve.dashboard.scripts import said

IMPORTS = 'import { h } from "preact"; import { revealHidden } from "./src/text/visible-text.ts";'


def shown(*texts: str) -> list[str]:
    """What the pages make of ``texts``."""
    return said(IMPORTS, "(...texts) => texts.map((text) => revealHidden(text))", *texts)


def test_characters_that_hide_or_turn_text_are_written_out() -> None:
    texts = ("a\u202egnp.exe", "z\u200bz", "\x1b[31m", "tag\U000e0041", "a\u2066b\u2069", "\ufeffx", "10%\r90%")
    assert shown(*texts) == [
        "a\\u{202e}gnp.exe",
        "z\\u{200b}z",
        "\\u{1b}[31m",
        "tag\\u{e0041}",
        "a\\u{2066}b\\u{2069}",
        "\\u{feff}x",
        "10%\\u{d}90%",
    ]


def test_whatever_the_catalog_finds_hidden_is_written_out() -> None:
    hidden = [code for code in range(sys.maxunicode + 1) if find_hidden_runs(chr(code))]
    known = set(hidden)
    ends = [code for code in hidden if code + 1 not in known]
    begins = [code for code in hidden if code - 1 not in known]
    script = """(ranges) => ranges.flatMap(([begin, end]) => {
      const codes = Array.from({ length: end - begin + 1 }, (_, place) => begin + place);
      return codes.filter((code) => revealHidden(String.fromCodePoint(code)) !== `\\\\u{${code.toString(16)}}`);
    })"""
    assert len(hidden) > 100_000, "the private planes are among them"
    assert said(IMPORTS, script, list(zip(begins, ends, strict=True))) == []


def test_a_message_in_variation_selectors_is_read() -> None:
    told = "".join(chr(0xE0100 + letter) for letter in b"rm")
    assert shown(f"pay{told}", "a\ufe0f", "❤\ufe0f\ufe0f", "5\ufe0f", "\u3164\u115f\u034f") == [
        "pay\\u{e0172}\\u{e016d}",
        "a\\u{fe0f}",
        "❤\\u{fe0f}\\u{fe0f}",
        "5\\u{fe0f}",
        "\\u{3164}\\u{115f}\\u{34f}",
    ]


def test_ordinary_text_stays_as_it_is() -> None:
    texts = ("tab\there\nand there\r\n", "größer, 数, العربية, 🌾", "<b>&amp;</b>", "❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3 ©\ufe0f")
    assert shown(*texts) == list(texts)


def test_emoji_of_several_characters_are_ordinary_text_and_what_only_looks_like_one_is_not() -> None:
    england = "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"
    ordinary = ("👨\u200d👩\u200d👧", "👩🏽\u200d🚀", "🏳\ufe0f\u200d🌈", england, "🇩🇪👍🏽", "2024: 12\ufe0f\u20e3")
    assert shown(*ordinary) == list(ordinary)
    assert shown("🍎\u200d🍎", "a\u200db", "👨\u200d", "\U0001f3f4\U000e0072\U000e006d\U000e007f", "12\u200d3") == [
        "🍎\\u{200d}🍎", "a\\u{200d}b", "👨\\u{200d}", "🏴\\u{e0072}\\u{e006d}\\u{e007f}", "12\\u{200d}3",
    ]  # fmt: skip


def test_it_holds_for_everything_that_is_put_into_a_page() -> None:
    script = '(turned) => h("p", { title: turned, "aria-label": turned, value: turned }, turned, ["ok", ["x", turned]], 7).props'
    props: dict[str, Any] = said(IMPORTS, script, "\u202e")
    written = "\\u{202e}"
    assert props["children"] == [written, ["ok", ["x", written]], 7]
    assert (props["title"], props["aria-label"]) == (written, written)
    assert props["value"] == "\u202e", "what is typed is not changed"
