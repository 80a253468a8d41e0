"""One question in plain Python is answered exactly as by the arrays: the same tools, in the same order, with the same scores."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gristmill.catalog.index_bytes import read_stretches
from gristmill.catalog.index_file import definition_hash
from gristmill.catalog.plain import PlainIndex
from gristmill.catalog.search import Index
from gristmill.catalog.usage import Habits
from gristmill.model import Tool

SET = json.loads((Path(__file__).parent / "quality.json").read_text(encoding="utf-8"))
TOOLS = [
    Tool(server=server, name=name, description=description, input_schema={"properties": {name: {} for name in parameters}})
    for server, name, description, parameters in SET["tools"]
]
INDEX = Index.build(TOOLS)
QUERIES = [query for query, _ in SET["queries"]]


def plain_index(tools: list[Tool], folder: Path) -> PlainIndex | None:
    Index.build(tools).save(folder / "index")
    stretches = read_stretches(folder / "index", definition_hash(tools, "DenseRanker"))
    return PlainIndex.of([tool.key for tool in tools], stretches or {})


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> PlainIndex:
    found = plain_index(TOOLS, tmp_path_factory.mktemp("plain"))
    assert found is not None
    return found


def answer(plain: PlainIndex, query: str, limit: int, habits: Habits | None = None) -> list[tuple[str, float]]:
    return [(plain.keys[i], score) for i, score in plain.search(query, limit, range(len(plain.keys)), habits)]


def full_answer(query: str, limit: int, habits: Habits | None = None) -> list[tuple[str, float]]:
    return [(hit.tool.key, hit.score) for hit in INDEX.search(query, limit, habits=habits)]


@pytest.mark.parametrize("query", [*QUERIES, "", "qzx", TOOLS[3].key, f" {TOOLS[0].key} ", "搜索", "get " * 3_000])
def test_every_question_has_the_same_answer(plain: PlainIndex, query: str) -> None:
    assert answer(plain, query, len(TOOLS)) == full_answer(query, len(TOOLS))


@given(query=st.one_of(st.text(max_size=60), st.lists(st.sampled_from(" ".join(QUERIES).split())).map(" ".join)))
@settings(max_examples=150, deadline=None)
def test_any_question_has_the_same_answer(plain: PlainIndex, query: str) -> None:
    assert answer(plain, query, 5) == full_answer(query, 5)


def test_habits_lift_the_same_tools(plain: PlainIndex) -> None:
    habits = Habits().recorded(QUERIES[0], [TOOLS[-1].key, "gone.tool"])
    every = len(TOOLS)

    assert answer(plain, QUERIES[0], every, habits) == full_answer(QUERIES[0], every, habits) != full_answer(QUERIES[0], every)


def test_one_server_can_be_asked_alone(plain: PlainIndex) -> None:
    server = TOOLS[5].server
    places = [i for i, tool in enumerate(TOOLS) if tool.server == server]
    assert places == list(range(places[0], places[-1] + 1))

    found = plain.search(QUERIES[0], 3, range(places[0], places[-1] + 1))

    assert [(TOOLS[i], score) for i, score in found] == [
        (hit.tool, hit.score) for hit in INDEX.search(QUERIES[0], 3, server=server)
    ]


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_tools_are_ranked_alike(tmp_path: Path, count: int) -> None:
    plain, index = plain_index(TOOLS[:count], tmp_path), Index.build(TOOLS[:count])

    for query in QUERIES[:10]:
        assert plain is not None
        assert answer(plain, query, 2) == [(hit.tool.key, hit.score) for hit in index.search(query, 2)]


def test_an_index_of_another_ranker_or_of_no_tools_is_not_read_here(tmp_path: Path) -> None:
    assert plain_index([], tmp_path) is None
    assert PlainIndex.of(["a.b"], {}) is None
