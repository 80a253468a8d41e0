"""Each verb alone is the same as among all the others."""

import sys
from typing import Any, cast

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from gristmill.serve.cli.app import app, chosen
from gristmill.serve.cli.verb_table import VERBS

ALL: Any = cast("Any", get_command(app)).commands


@pytest.mark.parametrize("name", [verb.name for verb in VERBS])
def test_a_verb_alone_has_the_help_that_it_has_among_all(name: str) -> None:
    alone, among = (CliRunner().invoke(each, [name, "--help"]) for each in (chosen([name]), app))
    assert (alone.exit_code, alone.output) == (0, among.output)
    assert list(cast("Any", get_command(chosen([name]))).commands) == [name]


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"], ["serch"], ["--version", "search"]])
def test_anything_else_is_for_the_whole_command_line(arguments: list[str]) -> None:
    assert chosen(arguments) is app


def test_completion_knows_every_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GRISTMILL_COMPLETE", "complete_bash")
    assert chosen(["search"]) is app


def test_every_verb_is_named_once_and_lives_in_a_file_of_its_own() -> None:
    assert sorted(ALL) == sorted(verb.name for verb in VERBS)
    assert all(f"gristmill.serve.cli.{verb.module}" in sys.modules for verb in VERBS)
