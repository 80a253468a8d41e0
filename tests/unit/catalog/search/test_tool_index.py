"""The index through its public face: what it finds, in which order, and what it does with strange questions."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.errors import NotFound
from gristmill.model import Tool


def tool(server: str, name: str, description: str = "", **parameters: str) -> Tool:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return Tool(server=server, name=name, description=description, input_schema=schema)


TOOLS = (
    tool("github", "search_issues", "Search issues and pull requests.", query="what to look for"),
    tool("github", "createPullRequest", "Open a pull request.", head="branch to merge"),
    tool("mail", "send-email", "Send a message to a recipient.", to="address"),
    tool("weather", "forecast", "Weather for the next days.", city="name of the city"),
    tool("必应", "bing_search", "使用必应搜索指定的关键词"),
)
INDEX = ToolIndex.build(TOOLS)


def names(query: str, limit: int = 3, server: str | None = None) -> list[str]:
    return [hit.tool.name for hit in INDEX.search(query, limit, server=server)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("search issues", "search_issues"),
        ("pull request erstellen createPullRequest", "createPullRequest"),
        ("sending emails", "send-email"),
        ("mail an electronic letter to my colleague", "send-email"),
        ("will it rain tomorrow", "forecast"),
        ("搜索关键词", "bing_search"),
        ("github.search_issues", "search_issues"),
        ("mail.send-email", "send-email"),
    ],
)
def test_the_tool_that_is_meant_comes_first(query: str, found: str):
    assert names(query)[0] == found


def test_the_only_tool_there_is_is_found_by_its_words_and_not_by_others():
    alone = ToolIndex.build(TOOLS[:1])
    assert [hit.tool.name for hit in alone.search("search issues", 3)] == ["search_issues"]
    assert not alone.search("weather tomorrow", 3)


def test_hits_come_best_first_and_no_more_than_asked_for():
    hits = INDEX.search("search", 4)

    assert len(hits) == 4
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_search_within_a_server_finds_only_its_tools():
    assert set(names("send an email", limit=10, server="github")) == {"search_issues", "createPullRequest"}


def test_an_unknown_server_answers_with_near_ones():
    with pytest.raises(NotFound) as caught:
        INDEX.search("issues", server="githb")

    assert caught.value.near == ("github",)


@pytest.mark.parametrize("query", ["", "   ", "?!", "🦆🦆", "\x00", "the of and"])
def test_a_question_without_words_finds_nothing_or_something_but_never_fails(query: str):
    assert len(INDEX.search(query, 5)) <= 5


def test_an_empty_catalogue_finds_nothing():
    assert ToolIndex.build([]).search("anything", 5) == []


def test_a_huge_question_is_read_only_so_far():
    assert names("search issues " * 1_000)[0] == "search_issues"
    assert len(INDEX.search("x" * 10_000, 5)) <= 5


@pytest.mark.parametrize("limit", [0, -1])
def test_asking_for_nothing_gives_nothing(limit: int):
    assert INDEX.search("issues", limit) == []


def test_equal_tools_keep_the_order_of_the_catalogue():
    twins = [tool("net", "ping", "Ping.") for _ in range(20)]

    hits = ToolIndex.build([*twins, tool("z", "other", "Something else.")]).search("ping", 5)

    assert [id(hit.tool) for hit in hits] == [id(twin) for twin in twins[:5]]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": None},
        {"properties": []},
        {"properties": {"a": None, "b": 3}},
        {"properties": {"a": {"description": {"deep": 1}}}, "required": "a"},
        {"required": [1, None]},
    ],
)
def test_a_malformed_schema_is_indexed_without_its_parameters(schema: dict[str, object]):
    odd = Tool(server="odd", name="strange_thing", description="Strange.", input_schema=schema)

    assert ToolIndex.build([odd, *TOOLS]).search("strange thing", 1)[0].tool is odd


@given(st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_question_gives_the_same_answer_twice(query: str):
    assert INDEX.search(query, 5) == ToolIndex.build(TOOLS).search(query, 5)


def test_a_saved_index_ranks_exactly_like_a_fresh_one(tmp_path: Path):
    INDEX.save(tmp_path / "deep" / "index.bin")

    loaded = ToolIndex.load(tmp_path / "deep" / "index.bin", TOOLS)

    assert loaded is not None
    for query in ("search issues", "rain", "搜索", "mail", ""):
        assert loaded.search(query, 5) == INDEX.search(query, 5)


def test_a_saved_index_is_not_used_for_other_definitions(tmp_path: Path):
    path = tmp_path / "index.bin"
    INDEX.save(path)
    changed = (tool("github", "search_issues", "Now something else."), *TOOLS[1:])

    assert ToolIndex.load(path, changed) is None
    assert ToolIndex.load(path, TOOLS[::-1]) is None


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"\x80\x04\x95pickle"])
def test_a_torn_or_foreign_file_means_building_anew(tmp_path: Path, content: bytes):
    path = tmp_path / "index.bin"
    path.write_bytes(content)

    assert ToolIndex.load(path, TOOLS) is None
    assert ToolIndex.load(tmp_path / "missing.bin", TOOLS) is None


def test_an_empty_catalogue_is_saved_and_loaded(tmp_path: Path):
    ToolIndex.build([]).save(tmp_path / "index.bin")

    loaded = ToolIndex.load(tmp_path / "index.bin", [])

    assert loaded is not None
    assert loaded.search("x") == []
