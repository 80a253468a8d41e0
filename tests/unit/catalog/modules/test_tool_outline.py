"""A tool to be read says what the typed module takes, and never becomes code by accident."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.answers.answer_types import write_plain_types
from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_outline import (
    build_outline,
    render_python_text,
    render_short_signature,
    render_typescript_text,
)
from gristmill.model import Tool

ISSUE = {"type": "object", "properties": {"number": {"type": "integer"}, "title": {"type": "string"}}, "required": ["number"]}
SEARCH = Tool(
    server="git-hub",
    name="search-issues",
    description="Search issues.",
    input_schema={
        "properties": {
            "state": {"enum": ["open", "closed"], "default": "open"},
            "per-page": {"type": "integer", "default": 30},
            "labels": {"type": "array", "items": {"type": "string"}, "default": ["bug"]},
            "query": {"type": "string", "description": "What to look for."},
        },
        "required": ["query"],
    },
    output_schema={"type": "array", "items": {**ISSUE, "title": "Issue"}},
)
CATALOG = Catalog.from_tools([SEARCH])


def _write_line(catalog: Catalog, tool: Tool) -> str:
    stub = build_outline(catalog, tool)
    types = write_plain_types(stub)
    return render_short_signature(stub, types.parameters, types.result)


def test_a_signature_has_the_names_of_the_module_and_the_defaults_of_the_server() -> None:
    line = _write_line(CATALOG, SEARCH)

    assert line == (
        "search_issues(query: str, state: Literal['open', 'closed'] = 'open', per_page: int = 30, labels: list[str] = ...) "
        "-> list[dict]"
    )
    ast.parse(f"def {line}: ...")


def test_the_whole_text_starts_with_the_import() -> None:
    text = render_python_text(CATALOG, SEARCH)
    assert text.startswith("from servers.git_hub import search_issues\n")
    assert "Original name: search-issues" in text
    ast.parse(text)
    assert "export function search_issues(args: {" in render_typescript_text(CATALOG, SEARCH)


def test_a_tool_that_cannot_be_typed_is_shown_untyped(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RecursionError

    monkeypatch.setattr("gristmill.catalog.modules.tool_outline.build_stub", fail)
    assert _write_line(CATALOG, SEARCH) == "search_issues(**arguments)"


@given(st.text(), st.text(), st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none()))
def test_hostile_definitions_stay_one_line_that_parses(name: str, parameter: str, default: Any) -> None:
    tool = Tool(server="s", name=name, input_schema={"properties": {parameter: {"default": default}}})
    line = _write_line(Catalog.from_tools([tool]), tool)
    assert len(line.splitlines()) == 1
    ast.parse(f"def {line}: ...")
