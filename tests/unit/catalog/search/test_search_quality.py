"""A small set of hand-written questions: worse ranking is red here before anyone runs the benchmark."""

import json
from pathlib import Path

import numpy as np
import pytest

from gristmill.catalog.search import rank_dense
from gristmill.catalog.search.fuse_scores import fuse_scores
from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.catalog.search.word_vectors import load_shipped_vectors
from gristmill.model import Tool

SET = json.loads((Path(__file__).parent / "quality.json").read_text(encoding="utf-8"))
TOOLS = [
    Tool(
        server=server,
        name=name,
        description=description,
        input_schema={"properties": {parameter: {"type": "string"} for parameter in parameters}},
    )
    for server, name, description, parameters in SET["tools"]
]
INDEX = ToolIndex.build(TOOLS)


def rank(query: str, wanted: str) -> int:
    return [hit.tool.key for hit in INDEX.search(query, len(TOOLS))].index(wanted) + 1


def test_most_questions_find_their_tool_first_and_nearly_all_among_five():
    ranks = [rank(query, wanted) for query, wanted in SET["queries"]]

    assert sum(found == 1 for found in ranks) / len(ranks) >= 0.8
    assert sum(found <= 5 for found in ranks) / len(ranks) >= 0.95


def test_meaning_finds_what_shares_no_word_with_the_question():
    assert rank("somewhere to eat close by", "maps.places_nearby") == 1
    assert rank("storm warnings", "weather.get_alerts") == 1


def test_words_find_what_has_no_meaning_to_the_table():
    odd = Tool(server="x", name="qzx_frobnicate", description="Frobnicate the qzx7.")

    assert ToolIndex.build([*TOOLS, odd]).search("frobnicate qzx7", 1)[0].tool is odd


def test_a_large_catalogue_ranks_its_leaders_like_a_small_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rank_dense, "LARGE_CATALOG", 10)
    monkeypatch.setattr(rank_dense, "REFINED_TOOLS", 30)

    large = ToolIndex.build(TOOLS)

    firsts = [large.search(query, 1)[0].tool.key == wanted for query, wanted in SET["queries"]]
    assert sum(firsts) / len(firsts) >= 0.75


def test_without_an_opinion_fusion_has_none():
    flat = np.zeros(5, np.float32)

    assert not fuse_scores(flat, flat).any()
    assert len(fuse_scores(flat[:0], flat[:0])) == 0


@pytest.mark.parametrize(("one", "near", "far"), [("email", "mail", "thermostat"), ("invoice", "payment", "weather")])
def test_the_word_table_knows_which_words_are_related(one: str, near: str, far: str):
    first, second, third = load_shipped_vectors().embed([one, near, far])

    assert first @ second > first @ third + 0.2


def test_the_word_table_has_no_vector_for_what_it_cannot_read():
    assert not load_shipped_vectors().embed(["", "🦆", "必应"]).any()
