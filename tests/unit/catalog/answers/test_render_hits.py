"""Search results as text: pasteable, within the budget, and never code by accident."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gristmill.catalog.answers.choose_details import choose_details
from gristmill.catalog.answers.compact_signature import make_identifier, render_compact_signature, render_schema_type
from gristmill.catalog.answers.first_sentences import find_common, take_first_sentence
from gristmill.catalog.answers.render_hits import AnswerWriting, DetailLevel, render_hits
from gristmill.catalog.search.tool_index import SearchHit
from gristmill.model import Tool

ISSUES = Tool(
    server="github",
    name="search_issues",
    description="Search issues. Second sentence.",
    input_schema={
        "properties": {
            "state": {"enum": ["open", "closed"], "default": "open"},
            "query": {"type": "string", "description": "What to look for."},
        },
        "required": ["query"],
    },
    output_schema={"type": "array", "items": {"type": "object"}},
)


def hits(*tools: Tool) -> list[SearchHit]:
    return [SearchHit(tool=tool, score=1.0) for tool in tools]


def test_a_full_result_can_be_pasted():
    assert render_hits(hits(ISSUES)) == (
        "from servers.github import search_issues\n\n"
        "# Search issues.\n"
        'search_issues(query: str, state: Literal["open", "closed"] = "open") -> list[dict]\n'
        "    # query: What to look for."
    )


def test_one_name_on_two_servers_is_told_apart():
    lines = render_hits(hits(ISSUES, replace(ISSUES, server="git-lab"), replace(ISSUES, name="get_issue"))).splitlines()

    assert lines[:2] == ["from servers import github, git_lab", "from servers.github import get_issue"]
    calls = [line.split("(")[0] for line in lines if "-> list[dict]" in line]
    assert calls == ["github.search_issues", "git_lab.search_issues", "get_issue"]


def test_types_come_before_the_words_about_parameters():
    writing = AnswerWriting(typed=lambda tool: ("search_issues()", ["Issue = {number: int}\nimport os"]))

    assert render_hits(hits(ISSUES), writing=writing).splitlines()[-2:] == [
        "    # Issue = {number: int} import os",
        "    # query: What to look for.",
    ]


def test_from_the_third_hit_on_a_signature_and_a_sentence_are_enough():
    tools = [replace(ISSUES, name=f"search_{name}", description=f"Search {name}. More.") for name in ("a", "b", "c", "d")]

    text = render_hits(hits(*tools))
    everything = render_hits(hits(*tools), writing=AnswerWriting(complete=True))

    assert text.count("# query: What to look for.") == 2
    assert text.splitlines()[-2:] == [
        f"search_{name}(query: str, state=...) -> list[dict]  # Search {name}." for name in ("c", "d")
    ]
    assert everything.count("# query: What to look for.") == 4


def test_parameters_that_are_rarely_set_are_only_named():
    names = ["query", "page", "per_page", "owner", "repo", "labels", "milestone", "sort"]
    tool = replace(ISSUES, input_schema={"properties": {name: {"type": "string"} for name in names}, "required": ["query"]})

    [line] = [line for line in render_hits(hits(tool)).splitlines() if line.startswith("search_issues(")]

    assert line.startswith(
        "search_issues(query: str, owner: str = ..., repo: str = ..., labels: str = ..., milestone: str = ...)"
    )
    assert line.endswith("# optional: page, per_page, sort")
    assert "page: str" in render_hits(hits(tool), writing=AnswerWriting(complete=True))


def test_what_was_shown_before_is_named_with_its_parameters():
    other = replace(ISSUES, name="get_issue")

    text = render_hits(hits(ISSUES, other), writing=AnswerWriting(shown={"github.search_issues"}))

    assert text.endswith('\n\n# shown before, detail_level="full" repeats: github.search_issues(query, state=...)')
    assert "search_issues" not in text.splitlines()[0]
    assert render_hits(hits(ISSUES), detail_level="name_only", writing=AnswerWriting(shown={"github.search_issues"}))


def test_a_sentence_that_all_hits_share_gives_way_to_the_next():
    tools = [replace(ISSUES, name=name, description=f"Part of the shop. Does {name}.") for name in ("a", "b")]

    text = render_hits(hits(*tools))

    assert "# Does a.\n" in text
    assert "Part of the shop" not in text


def test_a_sentence_about_the_server_is_not_about_its_tools():
    about = "This tool belongs to the shop."
    tools = [replace(ISSUES, name=name, description=f"{about} It does {name}.") for name in "abcd"]

    assert find_common(tools[0], tools) == {about}
    assert not find_common(tools[0], tools[:2])
    assert "# It does a.\n" in render_hits(hits(tools[0]), writing=AnswerWriting(repeated=find_common(tools[0], tools)))


def test_what_was_shown_before_and_fits_badly_is_left_out():
    other = replace(ISSUES, name="get_issue")
    details = choose_details([SearchHit(tool=ISSUES, score=1.0), SearchHit(tool=other, score=0.5)])

    text = render_hits(hits(ISSUES, other), writing=AnswerWriting(shown={other.key}, details=details))

    assert "less likely" in render_hits(hits(ISSUES, other), writing=AnswerWriting(details=details))
    assert "get_issue" not in text


def test_less_detail_is_one_line_per_tool():
    other = replace(ISSUES, name="get-issue", description="")

    assert render_hits(hits(ISSUES, other), detail_level="name_only") == "github.search_issues\ngithub.get-issue"
    assert (
        render_hits(hits(ISSUES, other), detail_level="with_description")
        == "github.search_issues  # Search issues.\ngithub.get-issue"
    )


def test_a_schema_too_big_for_the_budget_is_folded_and_says_how_to_see_the_rest():
    many = {f"option_number_{i}": {"type": "string", "description": "word " * 20} for i in range(60)}
    big = replace(ISSUES, input_schema={"properties": {"query": {"type": "string"}, **many}, "required": ["query"]})

    text = render_hits(hits(big), budget_tokens=60)

    assert 'search_issues(query: str) -> list[dict]  # 60 more: describe(["github.search_issues"])' in text


def test_every_hit_has_a_name_before_the_first_has_parameters():
    tools = [replace(ISSUES, name=f"tool_{i}", description="word " * 40) for i in range(10)]

    text = render_hits(hits(*tools), budget_tokens=200)

    assert all(tool.name in text for tool in tools)


def test_the_callers_signature_module_and_count_are_used():
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 1

    writing = AnswerWriting(
        signature=lambda tool: f"{tool.name.upper()}() -> int",
        function=lambda tool: tool.name.upper(),
        module=lambda name: name * 2,
        count=count,
    )

    assert "from servers.githubgithub import SEARCH_ISSUES" in render_hits(hits(ISSUES), writing=writing)
    assert counted


def test_no_hits_give_no_text():
    assert render_hits([]) == ""


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
strange_tools = st.builds(
    Tool,
    server=st.text(max_size=20),
    name=st.text(max_size=200),
    description=st.text(max_size=300),
    input_schema=st.fixed_dictionaries(
        {},
        optional={
            "properties": json_values
            | st.dictionaries(
                st.text(max_size=10),
                st.fixed_dictionaries(
                    {},
                    optional={
                        "type": json_values,
                        "enum": json_values,
                        "default": json_values,
                        "description": json_values,
                    },
                ),
                max_size=5,
            ),
            "required": json_values,
        },
    ),
    output_schema=st.none() | st.dictionaries(st.sampled_from(["type", "items", "enum"]), json_values, max_size=2),
)


@given(
    st.lists(strange_tools, max_size=6),
    st.sampled_from(["name_only", "with_description", "full"]),
    st.integers(min_value=0, max_value=400),
)
@settings(max_examples=150, deadline=None)
def test_no_result_is_ever_over_the_budget(tools: list[Tool], detail_level: DetailLevel, budget: int):
    text = render_hits(hits(*tools), detail_level=detail_level, budget_tokens=budget)

    assert AnswerWriting().count(text) <= budget


@given(strange_tools)
@settings(max_examples=150, deadline=None)
def test_a_signature_is_one_line_of_valid_python_whatever_the_definition(tool: Tool):
    line = render_compact_signature(tool)

    assert "\n" not in line
    assert line.isascii()
    # Two parameters whose names become the same are the typed modules' business, not a summary's.
    names = [make_identifier(name) for name in _parameter_names(tool)]
    if len(names) == len(set(names)):
        ast.parse(f"def {line}: ...")


def _parameter_names(tool: Tool) -> list[str]:
    properties = tool.input_schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


@pytest.mark.parametrize("text", ["one\nimport os", "one\rimport os", "one\u2028import os", "one\x00\u202eimport os"])
def test_a_description_cannot_leave_its_comment(text: str):
    shown = render_hits(hits(replace(ISSUES, description=text)))

    assert "# one import os\n" in shown


def test_a_line_is_the_first_sentence_cut_to_length():
    assert take_first_sentence("First. Second.") == "First."
    assert take_first_sentence("word " * 100, 20) == "word word word word…"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": ["string", "null"]}, "str | None"),
        ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "number"}}]}, "int | list[float]"),
        ({"enum": list(range(20)), "type": "integer"}, "int"),
        ({"type": "str"}, "Any"),
        ({}, "Any"),
        ({"type": "array"}, "list"),
    ],
)
def test_types_are_short_and_honest(schema: dict[str, object], text: str):
    assert render_schema_type(schema) == text
