"""A tool to be read says what the typed module takes, and never becomes code by accident."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_outline import (
    render_python_text,
    render_signature_line,
    render_type_lines,
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


def test_a_signature_has_the_names_of_the_module_and_the_defaults_of_the_server() -> None:
    line = render_signature_line(CATALOG, SEARCH)
    assert line.startswith(
        "search_issues(query: str, state: Literal['open', 'closed']='open', per_page: int=30, labels: list[str]=...)"
    )
    ast.parse(f"def {line}: ...")


def test_types_that_are_only_named_are_explained() -> None:
    [line] = render_type_lines(CATALOG, SEARCH)
    assert line.endswith(" = {number: int, title?: str}")
    assert line.split(" = ")[0] in render_signature_line(CATALOG, SEARCH)


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
    assert render_signature_line(CATALOG, SEARCH) == "search_issues(**_extra: Any) -> Any"
    assert render_type_lines(CATALOG, SEARCH) == []


@given(st.text(), st.text(), st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none()))
def test_hostile_definitions_stay_one_line_that_parses(name: str, parameter: str, default: Any) -> None:
    tool = Tool(server="s", name=name, input_schema={"properties": {parameter: {"default": default}}})
    line = render_signature_line(Catalog.from_tools([tool]), tool)
    assert len(line.splitlines()) == 1
    ast.parse(f"def {line}: ...")
