# ruff: noqa: RUF001 - the characters that look like others are what this file is about
"""Programs as models send them are repaired when they do not parse, and only then."""

import pytest

from gristmill.guard.program.repair.javascript import explain_javascript, looks_like_javascript
from gristmill.guard.program.repair.repair_program import repair_program, unwrap_program

FENCES, JSON, ESCAPES = "taken out of Markdown fences", "taken out of JSON", "escapes such as"
INDENT, QUOTES, WIDE, INVISIBLE = "common indent", "typographic quotes", "punctuation was replaced", "invisible characters"
PROMPTS, NUMBERS, SHELL, END = "prompts", "line numbers", "notebook or a shell", "not finished"
SIGNATURES, PROSE, TAGS = "signatures", "sentences around", "out of tags"

CASES = {
    "one fence with prose": ("Here it is:\n```python\nx = 1\nprint(x)\n```\nIt prints 1.", "x = 1\nprint(x)\n", FENCES),
    "two fences": ("```python\nx = 1\n```\nand\n```py\nprint(x)\n```", "x = 1\nprint(x)\n", FENCES),
    "a fence that is not closed": ("```python\nx = 1", "x = 1\n", FENCES),
    "a fence in one line": ("```python print(1)```", "print(1)\n", FENCES),
    "an output block beside the program": ("```python\nx = 1\n```\n```text\nnot code (\n```", "x = 1\n", FENCES),
    "an indented fence": ("```python\n    x = 1\n    x\n```", "x = 1\nx\n", INDENT),
    "line ends as escapes": ("x = 1\\nfor i in [x]:\\n    print(i)", "x = 1\nfor i in [x]:\n    print(i)", ESCAPES),
    "quotes as escapes": ('print(\\"hi\\")\\ny = \\"a\\\\nb\\"', 'print("hi")\ny = "a\\nb"', ESCAPES),
    "an escape that belongs to a string": ('x = 1\\nprint("a\\nb")', 'x = 1\nprint("a\\nb")', ESCAPES),
    "an indent of all lines": ("    x = 1\n    x", "x = 1\nx", INDENT),
    "an indent of all lines but the first": ("x = 1\n    y = 2\n    y", "x = 1\ny = 2\ny", INDENT),
    "typographic quotes": ("print(“hello”, ‘a’)", 'print("hello", "a")', QUOTES),
    "typographic quotes beside a fine string": ('y = "it’s"\nprint(“hi”, y)', 'y = "it’s"\nprint("hi", y)', QUOTES),
    "no-break spaces": ("x\u00a0=\u00a01\nx\u200b", "x = 1\nx", INVISIBLE),
    "a byte order mark in the middle": ("x = 1\n\ufeffy = '\u00a0'", "x = 1\ny = '\u00a0'", INVISIBLE),
    "wide punctuation": ("print（1，2）", "print(1,2)", WIDE),
    "signs of mathematics": ("x = 3 − 1\nx ≥ 2", "x = 3 - 1\nx >= 2", WIDE),
    "a transcript": (">>> x = 1\n>>> x\n1\n>>> for i in [1]:\n...     print(i)\n...\n1", "x = 1\nx\nfor i in [1]:\n    print(i)\n", PROMPTS),
    "line numbers": ("1: x = 1\n2: for i in [x]:\n3:     print(i)", "x = 1\nfor i in [x]:\n    print(i)", NUMBERS),
    "line numbers with spaces": ("1 x = 1\n2 if x:\n3     print(x)", "x = 1\nif x:\n    print(x)", NUMBERS),
    "magics": ("%matplotlib inline\n!pip install pandas\nx = 1", "x = 1", SHELL),
    "pip install": ("pip install pandas\nx = 1", "x = 1", SHELL),
    "an unfinished last line": ("x = 1\nprint(x)\ny = f(1,", "x = 1\nprint(x)", END),
    "an unfinished block": ("print(1)\nfor i in range(3):\n    print(i", "print(1)", END),
    "a signature of the search": ("get_booking(user_id: int) -> Booking\nx = get_booking(user_id=1)", "x = get_booking(user_id=1)", SIGNATURES),
    "prose without a fence": ("Sure! Here is the program:\n\nx = 1\nx\n\nThis shows the value.", "\nx = 1\nx\n", PROSE),
    "tags": ("<code>\nx = 1\n</code>", "x = 1", TAGS),
    "a fence and quotes": ("```python\nprint(“hi”)\n```", 'print("hi")\n', QUOTES),
}  # fmt: skip


@pytest.mark.parametrize(("code", "expected", "step"), CASES.values(), ids=CASES.keys())
def test_a_program_is_repaired(code: str, expected: str, step: str) -> None:
    found = repair_program(code)
    assert found is not None
    assert found.code == expected
    assert any(step in each for each in found.steps)


WRAPPED = {
    "an object": ('{"code": "x = 1\\nx"}', "x = 1\nx"),
    "a tool call": ('{"name": "execute_code", "arguments": {"code": "print(1)"}}', "print(1)"),
    "a tool call whose arguments are text": ('{"name": "execute_code", "arguments": "{\\"code\\": \\"print(1)\\"}"}', "print(1)"),
    "a list of tool calls": ('[{"name": "execute_code", "arguments": {"code": "print(1)"}}]', "print(1)"),
    "an object with a comma too many": ('{"code": "print(1)",}', "print(1)"),
    "an object of Python": ("{'code': 'print(1)'}", "print(1)"),
    "a label before an object": ('Code: {"code": "print(1)"}', "print(1)"),
    "a string of lines": ('"x = 1\\nprint(x)"', "x = 1\nprint(x)"),
    "the name of the language": ("python\nprint(1)", "print(1)"),
    "lines of an object": ('{"code": ["x = 1", "x"]}', "x = 1\nx"),
    "an array of lines": ('["x = 1", "if x:", "    print(x)"]', "x = 1\nif x:\n    print(x)"),
    "cells": ("In [1]: x = 5\n\nIn [2]: x\nOut[2]: 5\n", "x = 5\nx"),
    "cells of a notebook": ("In [1]:\nx = 5\nx\nOut[1]:\n5", "\nx = 5\nx"),
}


@pytest.mark.parametrize(("code", "expected"), WRAPPED.values(), ids=WRAPPED.keys())
def test_a_wrapped_program_that_parses_is_unwrapped(code: str, expected: str) -> None:
    found = unwrap_program(code)
    assert found is not None
    assert found.code == expected


@pytest.mark.parametrize(
    "code",
    [
        '{"total": 1}', '["a", "b"]', "[x for x in range(3)]", '{"code": 1}', "{x: 1 for x in []}", "x = 1", '["x = 1"]',
        "{'code': 'ABC', 'n': 2}", '"a line\\nand one more"', '"print(1)"', '"""text\nprint(1)"""', "python = 3\npython",
        'table: dict = {"code": f(1)}', 'rows = {"code": "x"}', '[{"code": 1}, {"code": 2}]', '{"code": code}',
    ],
)  # fmt: skip
def test_a_program_that_means_what_it_says_is_left_alone(code: str) -> None:
    assert unwrap_program(code) is None
    assert repair_program(code) is None


@pytest.mark.parametrize(
    "code",
    [
        "this is no program (((",
        "x = = 1",
        "def f(:\n    pass",
        "import os\nos.fork(",
        "f()\ny = (2,\nz = 3",
        "",
        "x" * 300_000 + " y",
    ],
)
def test_what_cannot_be_repaired_is_left_as_it_is(code: str) -> None:
    assert repair_program(code) is None


def test_javascript_is_recognised_and_its_calls_are_written_in_python() -> None:
    code = 'const r = await pam.getExpenses({userId: 1, paid: true});\nconsole.log(r.length, await servers.crm.find({"q": "x"}));'
    assert looks_like_javascript(code)
    assert explain_javascript(code) == (
        "this is JavaScript, and programs are written in Python: name arguments with =, and print with print(); for example:\n"
        'r = pam.getExpenses(userId=1, paid=True)\ncrm.find(q="x")'
    )
    assert not looks_like_javascript("x = = 1")
