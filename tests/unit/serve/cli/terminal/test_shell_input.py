"""Where a statement ends, in a pipe and at a terminal."""

import builtins
from collections.abc import Iterator

import pytest

from gristmill.serve.cli.terminal.shell_input import is_complete_statement, read_typed_lines, split_piped_text


def test_a_pipe_is_programs_with_commands_between() -> None:
    assert list(split_piped_text("x = 1\nfor i in x:\n    pass\nprint(x)\n:servers\n\n:search a b \nx\n")) == [
        "x = 1\nfor i in x:\n    pass\nprint(x)\n", ":servers", ":search a b", "x\n",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("1 + 1", True),
        ("await f()", True),
        ("x = (", False),
        ("if x:", False),
        ("if x:\n    y", False),
        ("if x:\n    y\n", True),
        ("async def f():", False),
        ("1 +* 2", True),
        ('"""text', False),
        ("return 1", True),
    ],
)
def test_a_statement_is_whole_when_python_would_run_it_or_complain(text: str, whole: bool) -> None:
    assert is_complete_statement(text) is whole


def test_ctrl_c_forgets_what_was_typed_and_ctrl_d_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: Iterator[str | type[BaseException]] = iter(
        ["x = (", KeyboardInterrupt, "y = 1", ":quit ", "if y:", "    z", "", EOFError]
    )
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        key = next(keys)
        if isinstance(key, str):
            return key
        raise key

    monkeypatch.setattr(builtins, "input", answer)
    assert list(read_typed_lines(is_complete_statement)) == ["y = 1", ":quit", "if y:\n    z\n"]
    assert prompts == [">>> ", "... ", ">>> ", ">>> ", ">>> ", "... ", "... ", ">>> "]
