"""The quick side of `gristmill search` understands only what the command line proper understands, and in the same way."""

import shlex
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command

from gristmill.serve.cli.app import app
from gristmill.serve.cli.plain_words import DESCRIBE, SEARCH, understood

COMMANDS: Any = cast("Any", get_command(app)).commands
TABLES = {"search": SEARCH, "describe": DESCRIBE}
OPTIONS = {**SEARCH, **DESCRIBE}
OURS = {"detail": "detail_level", "budget": "budget_tokens"}
WORDS = [
    *OPTIONS,
    "--help",
    "--unheard-of",
    "--",
    "-",
    "-cx",
    "full",
    "name_only",
    "3",
    "50",
    "51",
    "0",
    "-1",
    "1.5",
    "x",
    "",
    "a=b",
]
JOINED = [f"{name}={value}" for name in OPTIONS for value in ("full", "7", "0.5", "", "-1", "x=y")]


def by_the_command_line(verb: str, arguments: list[str]) -> dict[str, Any]:
    """What the verb is called with; raises where the command line would complain."""
    found = COMMANDS[verb].make_context(verb, list(arguments)).params
    return {OURS.get(str(name), str(name)): value for name, value in found.items()}


def agree(verb: str, arguments: list[str]) -> bool:
    """Whether it was understood; and if so, then as the command line does."""
    quick = understood([verb, *arguments])
    if quick is None:
        return False
    proper = by_the_command_line(verb, arguments)
    assert {**proper, **quick} == proper
    assert proper == {**by_the_command_line(verb, ["x"]), **quick}
    return True


@given(st.sampled_from(["search", "describe"]), st.lists(st.sampled_from([*WORDS, *JOINED]) | st.text(max_size=5), max_size=6))
@settings(max_examples=800, deadline=None)
def test_what_is_understood_is_understood_alike(verb: str, arguments: list[str]) -> None:
    agree(verb, arguments)


@pytest.mark.parametrize("verb", ["search", "describe"])
def test_every_option_is_known_under_its_names(verb: str) -> None:
    names = {name for parameter in COMMANDS[verb].params for name in parameter.opts if name.startswith("-")}
    assert names - {"--help", "-h"} == set(TABLES[verb])


@pytest.mark.parametrize(
    "line",
    [
        "'open a ticket'",
        "ticket --limit 3 --json",
        "--limit=50 ticket --server crm --detail name_only",
        "ticket -c there.toml --budget 100 --wait 0.5",
        "--config=there.toml ticket",
    ],
)
def test_plain_questions_are_understood(line: str) -> None:
    assert agree("search", shlex.split(line))


@pytest.mark.parametrize("line", ["crm.get_user", "a.b --json c.d --language typescript", "--wait 1 a.b -c there.toml"])
def test_plain_keys_are_understood(line: str) -> None:
    assert agree("describe", shlex.split(line))


@pytest.mark.parametrize(
    "line",
    ["", "--help", "a b", "a --limit 0", "a --limit 51", "a --limit +3", "a --detail Full", "a --json=1", "a --server", "-x", "a --",
     "a --limit 1 --limit 2", "a --wait -1", "a --server --json", "a --lim 3"],
)  # fmt: skip
def test_anything_else_is_left_to_the_command_line(line: str) -> None:
    assert understood(["search", *shlex.split(line)]) is None


@pytest.mark.parametrize("line", ["", "--json", "a.b --language Python", "a.b --limit 3", "a.b --help"])
def test_keys_with_anything_else_are_left_to_the_command_line(line: str) -> None:
    assert understood(["describe", *shlex.split(line)]) is None


def test_other_verbs_are_none_of_its_business() -> None:
    assert understood([]) is None
    assert understood(["tools", "x"]) is None
    assert understood(["search", "x", "-c", "y"]) == {"query": "x", "config": Path("y")}
