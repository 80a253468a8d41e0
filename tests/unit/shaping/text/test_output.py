"""What a model sees of printed text that does not fit."""

import json
from typing import Any

import pytest

from gristmill.model import Budget, Strategy
from gristmill.shaping.shape_report import shape_report
from gristmill.shaping.text import embedded_values as embedded
from tests.unit.shaping.parts import ROWS, Kept, report

BUDGET = Budget(output_tokens=200)
STACK = "\n".join(f'  File "job.py", line {number}, in step\n    step()' for number in range(40))
TRACEBACK = f"Traceback (most recent call last):\n{STACK}\nValueError: no such customer"


def shown(output: str, strategy: Strategy = "summarize", tokens: int = 200) -> str:
    return shape_report(report(output=output), budget=Budget(output_tokens=tokens), strategy=strategy, spill=Kept()).output


def test_the_same_line_is_shown_once_with_its_number() -> None:
    assert shown("start\n" + "retrying\n" * 413 + "end") == "start\nretrying\n... the same line 412 more times\nend"


def test_lines_that_differ_in_numbers_are_grouped() -> None:
    pages = "\n".join(f"page {number}: {number * 7} rows" for number in range(1_000))
    text = shown(pages)
    assert text.startswith("page 0: 0 rows\npage 1: 7 rows\n")
    assert text.endswith(" similar lines\npage 999: 6993 rows")


def test_lines_that_take_turns_are_grouped() -> None:
    text = shown("\n".join(f"GET /items/{number}\nERROR: timeout after {number} ms" for number in range(300)))
    assert text.count("similar lines") == 2


def test_an_error_in_the_middle_of_much_else_is_not_lost() -> None:
    names = [f"line {''.join(chr(97 + (number // 26**place) % 26) for place in range(3))} of the log" for number in range(2_000)]
    text = shown("\n".join([*names[:1_000], "ERROR: the disk is full", *names[1_000:]]))
    assert "ERROR: the disk is full" in text


def test_a_traceback_keeps_its_last_lines() -> None:
    text = shown(f"before\n{TRACEBACK}\nafter\n" + "tick\n" * 100)
    assert '  File "job.py", line 39, in step\n    step()\nValueError: no such customer\nafter' in text
    assert "line 20" not in text


def test_repeated_tracebacks_are_one() -> None:
    assert shown(f"{TRACEBACK}\n" * 30).endswith("ValueError: no such customer\n... the same traceback 29 more times")


def test_an_error_keeps_its_end() -> None:
    shaped = shape_report(report(error=f"{'x' * 9_000}\n{TRACEBACK}"), budget=BUDGET, spill=Kept(), error_tokens=150)
    assert shaped.error is not None
    assert shaped.error.endswith("ValueError: no such customer")


def test_printed_json_is_shaped_as_the_value_it_is() -> None:
    head, middle, tail = shown(f"found:\n{json.dumps(ROWS, indent=2)}\nbye").split("\n")
    assert (head, json.loads(middle)["table"]["rows"], tail) == ("found:", 10_000, "bye")


def test_json_lines_are_a_table() -> None:
    assert json.loads(shown("\n".join(map(json.dumps, ROWS[:500]))))["table"]["rows"] == 500


def test_a_printed_list_of_dicts_is_a_table() -> None:
    head, table = shown(f"found {len(ROWS)}\n{ROWS[:2_000]}").split("\n")
    assert (head, json.loads(table)["table"]["rows"]) == ("found 10000", 2_000)


def test_text_that_only_begins_like_json_is_text() -> None:
    text = shown("\n".join(f"[INFO {number}] {{ not json" for number in range(500)))
    assert text.startswith("[INFO 0] { not json\n")


def test_head_tail_shows_both_ends_and_says_what_is_between() -> None:
    lines = [f"{number}" for number in range(3_000)]
    text = shown("\n".join(lines), "head_tail").split("\n")
    gap = next(line for line in text if "left out" in line)
    before, after = text[: text.index(gap)], text[text.index(gap) + 1 :]
    assert before == lines[: len(before)]
    assert after == lines[-len(after) :]
    assert gap == f"... [{3_000 - len(before) - len(after):,} lines left out] ..."


def test_the_line_that_looks_at_more_begins_where_the_output_ends() -> None:
    lines = [f"{number}" for number in range(3_000)]
    shaped = shape_report(report(output="\n".join(lines)), budget=BUDGET, strategy="head_tail", spill=Kept())
    shown_lines = shaped.output.split("\n... [")[0].count("\n") + 1
    assert shaped.left_out[0].how.endswith(f".read().splitlines()[{shown_lines}:{shown_lines + 40}]")


def test_a_long_line_is_folded_with_its_length() -> None:
    assert "characters left out]..." in shown("word " * 5_000)


def test_unfinished_json_does_not_cost_more_than_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of the lines could begin a value that reads to the end and fails: what is read in vain is bounded.
    tries: list[int] = []

    def decode(text: str, start: int) -> tuple[Any, int]:
        tries.append(start)
        return json.JSONDecoder().raw_decode(text, start)

    monkeypatch.setattr(embedded, "_decode", decode)
    shown("[\n" * 500 + "1,\n" * 100_000)
    assert 1 <= len(tries) <= 10
