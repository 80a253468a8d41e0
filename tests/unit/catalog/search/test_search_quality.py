"""A small set of hand-written questions: worse ranking is red here before anyone runs the benchmark."""

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from gristmill.catalog.search.fuse_scores import fuse_features, score_candidates, standardize_scores
from gristmill.catalog.search.rankers import rank_dense
from gristmill.catalog.search.rankers.word_vectors import load_shipped_vectors
from gristmill.catalog.search.tool_index import ToolIndex
from gristmill.model import Json, Tool

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
EXPENSES = [
    ("list_accounts", "List all accounts."),
    ("list_budgets", "List the budgets of a month."),
    ("add_expense", "Record what was spent."),
    ("get_expenses", "All expenses of a time, with category and merchant, newest first."),
    ("delete_expense", "Delete one expense."),
]


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
    flat = standardize_scores(np.full(5, 3.0, np.float32))

    assert not fuse_features({"words": flat}, {"words": 2.0}).any()
    assert len(score_candidates({"words": flat[:0]})) == 0


def test_a_verb_finds_tools_that_use_another_verb_of_its_class():
    tools = [Tool(server="pam", name=name, description=text) for name, text in EXPENSES]

    assert ToolIndex.build(tools).search("list expenses", 1)[0].tool.name == "get_expenses"
    assert ToolIndex.build(tools).search("new expense", 1)[0].tool.name == "add_expense"
    assert ToolIndex.build(tools).search("remove an expense", 1)[0].tool.name == "delete_expense"


def test_each_clause_of_a_question_finds_its_tool():
    found = [hit.tool.key for hit in INDEX.search("What will the weather be tomorrow in Oslo, and then open a pull request", 4)]

    assert "weather.get_forecast" in found
    assert "github.create_pull_request" in found


def test_a_need_that_few_words_are_about_is_among_the_first_five():
    question = "Search the issues of the repository, list the commits of the branch, and email the author"

    found = [hit.tool.key for hit in INDEX.search(question, 5)]

    assert {"github.search_issues", "github.list_commits", "gmail.sendEmail"} <= set(found)


def test_annotations_say_what_a_name_does_not():
    one, two = (Tool(server="crm", name=name, description="Customers.") for name in ("customers", "customers2"))
    index = ToolIndex.build(
        [replace(one, annotations={"destructiveHint": True}), replace(two, annotations={"readOnlyHint": True})]
    )

    assert index.search("show customers", 1)[0].tool.name == "customers2"
    assert index.search("delete customers", 1)[0].tool.name == "customers"


def test_fields_of_results_are_found():
    names = ["alpha", "beta", "gamma"]
    schemas: list[dict[str, Json]] = [{"properties": {"zebra": {}}}, {"properties": {"iban": {}, "bic": {}}}, {}]
    tools = [Tool(server="x", name=name, output_schema=schema) for name, schema in zip(names, schemas, strict=True)]

    assert ToolIndex.build(tools).search("iban", 1)[0].tool.name == "beta"


@pytest.mark.parametrize(("one", "near", "far"), [("email", "mail", "thermostat"), ("invoice", "payment", "weather")])
def test_the_word_table_knows_which_words_are_related(one: str, near: str, far: str):
    first, second, third = load_shipped_vectors().embed([one, near, far])

    assert first @ second > first @ third + 0.2


def test_the_word_table_has_no_vector_for_what_it_cannot_read():
    assert not load_shipped_vectors().embed(["", "🦆", "必应"]).any()
