"""A plan on the terminal."""

import io

import pytest
from rich.console import Console

from gristmill.model import Plan, PlannedCall
from gristmill.serve.cli.terminal.show_plan import ask_at_terminal, explain_cut, parse_numbers, print_plan


def _call(number: int, tool: str, **more: object) -> PlannedCall:
    fields: dict[str, object] = {"number": number, "tool": tool, "arguments": {"n": number}, "rule": "r", "hash": "h", **more}
    return PlannedCall(**fields)  # pyright: ignore[reportArgumentType]


PLAN = Plan(
    id="ap_1",
    execution="e",
    calls=(
        _call(1, "fs.write", diff="-old\n+new"),
        _call(2, "mail.send", was_lost=True),
        _call(3, "fs.write", arguments={"text": "\x1b[2J[bold]" + "x" * 1_000}, needs_approval=False),
    ),
    expires=0.0,
    stopped="line 3: \x1b[31mthe plan ends here",
)


def _console() -> Console:
    return Console(markup=False, file=io.StringIO(), width=200, soft_wrap=True)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_calls_are_grouped_by_tool_with_what_matters_about_each() -> None:
    print_plan(console := _console(), PLAN)
    lines = [line.strip() for line in shown(console).splitlines()]
    assert lines[0] == "fs.write (2 calls)"
    assert lines[1:4] == ['1  {"n": 1}', "-old", "+new"]
    assert [line.split()[0] for line in lines if line.startswith(("3 ", "mail", "2 "))] == ["3", "mail.send", "2"]
    assert any("answer was lost" in line for line in lines)
    assert any("needs no approval" in line for line in lines)


def test_nothing_in_a_plan_steers_the_terminal() -> None:
    print_plan(console := _console(), PLAN)
    assert "\x1b" not in shown(console)
    assert "[bold]" in shown(console)


@pytest.mark.parametrize(
    ("typed", "answer"),
    [(["a"], "all"), (["N"], "none"), ([""], "none"), (["what", "1,3"], [1, 3]), (["2-4"], [2, 3, 4])],
)
def test_the_answer_is_all_none_or_numbers(typed: list[str], answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(typed)
    monkeypatch.setattr("builtins.input", lambda: next(lines))
    assert ask_at_terminal(_console(), PLAN) == answer


def test_nobody_at_the_terminal_means_no(monkeypatch: pytest.MonkeyPatch) -> None:
    def end() -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", end)
    assert ask_at_terminal(_console(), PLAN) == "none"


LONG = Plan(
    id="ap_2",
    execution="e",
    calls=(_call(1, "fs.write"), _call(2, "fs.write", arguments={"text": "x" * 1_000 + " rm -rf"}, hash="f" * 64)),
    expires=0.0,
)


@pytest.mark.requirement("T95")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [(["a", "n"], "none"), (["y", "all", "1"], [1]), (["w", "a"], "all"), (["2"], [2]), (["a", "w", "y"], "all")],
)
def test_all_is_an_answer_only_when_all_was_shown(typed: list[str], answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(typed)
    monkeypatch.setattr("builtins.input", lambda: next(lines))
    console = _console()
    assert ask_at_terminal(console, LONG) == answer
    assert ("rm -rf" in shown(console)) == ("w" in typed)
    assert "sha256 " + "f" * 64 in shown(console)
    assert list(lines) == []


@pytest.mark.requirement("T95")
def test_a_plan_that_is_cut_says_where_it_is_shown_whole() -> None:
    print_plan(console := _console(), LONG)
    assert "gristmill approvals show ap_2 --whole" in shown(console)
    print_plan(console := _console(), LONG, whole=True)
    assert "rm -rf" in shown(console)
    assert "cut:" not in shown(console)
    assert explain_cut(PLAN) is None
    assert "--only 1,2" in str(explain_cut(LONG))


@pytest.mark.parametrize("text", ["", "x", "1-", "1-99999999999", ",", "-3"])
def test_what_is_no_list_of_numbers_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - that it is one is all there is to say
        parse_numbers(text)
