"""House rules for code: off by default, every violation with its line when on."""

from pathlib import Path
from typing import Any

import pytest

from gristmill.config.sections.guard_section import GuardConfig
from gristmill.errors import CodeRefused
from gristmill.guard.program.house_rules import MOST_CHARS, check_house_rules

ROOT = Path(__file__).parents[4]
PROGRAMS = [*sorted((ROOT / "tests/attack/benign").glob("*.py")), *sorted((ROOT / "bench/snippets").glob("*.py"))]


def refused(code: str, **rules: Any) -> str:
    with pytest.raises(CodeRefused) as caught:
        check_house_rules(code, GuardConfig.model_validate(rules))
    return caught.value.message


@pytest.mark.requirement("T53")
@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.name)
def test_without_rules_no_program_is_refused(file: Path) -> None:
    check_house_rules(file.read_text(), GuardConfig())


def test_every_violation_is_listed_with_its_line() -> None:
    said = refused(
        "import os, json\nfrom socket import socket\nx.system('ls')\n", allowed_modules=["json"], denied_names=["system"]
    )
    assert [line.partition(":")[0] for line in said.splitlines()[1:]] == [
        "line 1, column 1",
        "line 2, column 1",
        "line 3, column 1",
    ]
    assert "json" in said.splitlines()[1]


@pytest.mark.parametrize(
    "code", ["import json", "import urllib.parse", "from urllib import parse", "from servers import crm", "from __future__ import annotations",
             "from urllib.parse import quote", "import re; re.compile('x')"],
)  # fmt: skip
def test_allowed_modules_and_the_tools_own_pass(code: str) -> None:
    check_house_rules(code, GuardConfig(allowed_modules=("json", "urllib.parse", "re")))


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "from urllib import request",
        "import urllib",
        "__import__('os')",
        "eval('1')",
        "from . import x",
        "from json5 import x",
    ],
)
def test_other_modules_and_ways_around_the_list_are_refused(code: str) -> None:
    refused(code, allowed_modules=["json", "urllib.parse"])


@pytest.mark.parametrize(
    "code", ["subprocess", "x.subprocess", "import subprocess", "from subprocess import run", "from a import subprocess"]
)
def test_a_denied_name_is_refused_wherever_it_stands(code: str) -> None:
    refused(code, denied_names=["subprocess"])


def test_a_word_in_a_text_or_a_comment_is_no_use_of_it() -> None:
    check_house_rules("print('subprocess')  # subprocess", GuardConfig(denied_names=("subprocess",)))


def test_code_that_cannot_be_read_is_refused_while_rules_are_on() -> None:
    for code in ("x = 1\n" * MOST_CHARS, "-" * 50_000 + "1"):
        refused(code, denied_names=["x"])
