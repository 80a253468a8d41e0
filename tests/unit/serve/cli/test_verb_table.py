"""The table of verbs says what the verbs themselves say, and only the chosen verb is imported."""

import subprocess
import sys
from typing import Any, cast

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from gristmill.serve.cli.app import app
from gristmill.serve.cli.verb_group import build_command
from gristmill.serve.cli.verb_table import VERBS, Verb
from gristmill.serve.cli.verbs.operate import serve as serve_verb


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.name)
def test_the_summary_in_the_table_is_the_first_sentence_of_the_help(verb: Verb) -> None:
    command = build_command(verb)
    assert command.name == verb.name
    assert command.get_short_help_str(300) == verb.summary


def test_every_verb_is_named_once_and_can_be_asked_for_help() -> None:
    names = [verb.name for verb in VERBS]
    assert list(cast("Any", get_command(app)).commands) == names
    assert len(set(names)) == len(names)
    for name in names:
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0


def test_the_help_page_lists_every_verb_under_its_heading() -> None:
    page = CliRunner().invoke(app, ["--help"]).output
    for verb in VERBS:
        heading = page.index(f"\n{verb.heading}:\n")
        assert f"\n  {verb.name} " in page[heading:], verb.name


def test_a_mistyped_verb_is_answered_with_the_near_one() -> None:
    done = CliRunner().invoke(app, ["serch"])
    assert done.exit_code == 2
    assert "'search'" in done.output


def run_and_list_modules(*arguments: str, **environ: str) -> tuple[str, set[str]]:
    program = (
        "import atexit, sys\natexit.register(lambda: print('\\n' + ' '.join(sys.modules)))\n"
        f"sys.argv = ['gristmill', *{arguments!r}]\nfrom gristmill.__main__ import main\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, env=environ, check=True)
    output, _, modules = done.stdout.rstrip("\n").rpartition("\n")
    return output, set(modules.split())


VERB_MODULES = {f"gristmill.serve.cli.verbs.{verb.module}" for verb in VERBS}
HEAVY = {"pydantic", "mcp", "rich", "numpy", "anyio", "asyncio", "fastapi", "cryptography"}


def test_the_help_page_and_completion_import_no_verb() -> None:
    page, modules = run_and_list_modules("--help")
    assert "Get started" in page
    assert modules & (VERB_MODULES | HEAVY) == set()
    words = {"_GRISTMILL_COMPLETE": "complete_bash", "COMP_WORDS": "gristmill se", "COMP_CWORD": "1"}
    names, modules = run_and_list_modules(**words)
    assert names.split() == ["serve", "search", "secrets", "sessions"]
    assert modules & (VERB_MODULES | HEAVY - {"pydantic"}) == set()  # typer itself tries to import it


def test_a_verb_imports_no_other_verb_and_no_protocol() -> None:
    _, modules = run_and_list_modules("run", "--help")
    assert modules & VERB_MODULES == {"gristmill.serve.cli.verbs.use.run"}
    assert modules & {"mcp", "fastapi", "numpy", "rich"} == set()


def test_without_its_packages_the_http_service_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_verb, "find_spec", lambda name: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    done = CliRunner().invoke(app, ["serve", "--http"])
    assert getattr(done.exception, "code", None) == "config"
    assert "gristmill[http]" in str(done.exception)
