"""Only what no interpreter could run is refused before it runs."""

import pytest

from gristmill.errors import CodeRefused
from gristmill.guard.program.runnable_text import check_runnable_text
from gristmill.model import MOST_CODE_CHARACTERS


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("", "code.empty"),
        (" \n\t", "code.empty"),
        ("#" * (MOST_CODE_CHARACTERS + 1), "code.size"),
        ("x\0", "code.nul"),
        ("x = '\ud800'", "code.text"),
    ],
)
def test_what_cannot_run_is_refused_by_rule(code: str, rule: str) -> None:
    with pytest.raises(CodeRefused) as caught:
        check_runnable_text(code)
    assert caught.value.rule == rule


@pytest.mark.parametrize("code", ["import os; os.system('rm -rf /')", "eval('1')", "__import__('socket')", "x = ("])
def test_no_word_is_forbidden(code: str) -> None:
    check_runnable_text(code)
