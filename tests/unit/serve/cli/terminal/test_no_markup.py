"""No text is ever read as rich's markup: neither that of others nor our own."""

import ast
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

import gristmill.serve.cli as cli
from gristmill.serve.cli.terminal import safe_output

MODULES = sorted(Path(cli.__path__[0]).rglob("*.py"))
TAG = re.compile(r"\[(?:/[a-z ]*|(?:b|i|bold|dim|red|green|yellow|cyan|blue)(?: [a-z]+)*)\]")
"""What rich would read as a tag of ours."""


def _rendered(console: Console, *things: object) -> str:
    console.file = io.StringIO()
    for thing in things:
        console.print(thing)
    return console.file.getvalue()


@pytest.mark.parametrize("make", [safe_output.stdout, safe_output.stderr])
def test_brackets_are_printed_as_they_are_in_lines_tables_and_parts(make: "type[Console]") -> None:
    hostile = "x[/y] [red]z[/red] gristmill[http] :smile:"
    table = Table(hostile)
    table.add_row(hostile)
    parts = safe_output.style_parts((hostile, "red"))
    assert _rendered(make(), hostile, table, parts).count(hostile) == 4


def _calls(path: Path) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(MODULES[0].parent)))
def test_no_module_of_the_command_line_prints_markup(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert "rich.markup" not in source
    for call in _calls(path):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        if name == "Console":  # one place makes consoles, and they read no markup
            assert path.name == "safe_output.py"
            assert ast.unparse(keywords["markup"]) == "False"
            continue
        assert "markup" not in keywords, f"line {call.lineno}"
        if name in ("print", "add_row", "rule", "print_error", "style_parts"):
            assert TAG.findall(" ".join(_texts(call))) == [], f"line {call.lineno}: a tag is printed as it is; use style="


def _texts(call: ast.Call) -> Iterator[str]:
    for node in ast.walk(call):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_the_check_finds_a_tag() -> None:
    assert TAG.findall("[red]no[/] [bold green]x[/bold green]") == ["[red]", "[/]", "[bold green]", "[/bold green]"]
    assert TAG.findall("pip install 'gristmill[http]'") == []
