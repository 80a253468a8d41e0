"""What was learned from use makes no answer longer."""

import pytest

from gristmill.catalog.catalog import Catalog
from gristmill.catalog.modules.tool_module import LearnedResultType
from gristmill.catalog.search.search_hits import SearchHit
from gristmill.model import Json, Tool
from gristmill.runtime.tools.search_answers import LEARNED_TOKENS, AnswerSources, WantedAnswer, write_answer

TOOLS = [
    Tool(
        server="retail",
        name=name,
        description=f"{name.replace('_', ' ')}. " + "It takes an order and more. " * 3,
        input_schema={
            "properties": {
                f"{part}_of_order": {"type": "string", "description": f"Says {part} in words."} for part in ("what", "who")
            }
        },
    )
    for name in ("get_order", "cancel_order", "modify_order_items", "modify_order_address", "return_order")
]
RESULT: Json = {
    "type": "object",
    "properties": {f"a_rather_long_field_{i}": {"type": "object", "properties": {"x": True, "y": True}} for i in range(20)},
}


def count(text: str) -> int:
    return len(text) // 4


@pytest.mark.parametrize("size", [1, 3, 5])
def test_learned_types_never_make_an_answer_longer(size: int) -> None:
    hits = [SearchHit(tool=tool, score=1.0) for tool in TOOLS[:size]]
    sources = AnswerSources(catalog=Catalog.from_tools(TOOLS), count=count)
    learned = {tool.key: LearnedResultType(schema=RESULT, calls=7) for tool in TOOLS}

    before = write_answer("order", hits, sources, WantedAnswer())
    after = write_answer("order", hits, AnswerSources(catalog=sources.catalog, count=count, learned=learned), WantedAnswer())

    assert count(after.text) <= max(count(before.text), LEARNED_TOKENS)
    assert all(tool.name in after.text for tool in TOOLS[:size])


def test_a_tool_whose_results_had_the_id_that_the_first_hit_needs_is_named() -> None:
    """What a tool returned says what it returns, where its definition does not."""
    needs: dict[str, Json] = {"properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
    refund = Tool(server="retail", name="refund", description="Refund it.", input_schema=needs)
    history = Tool(server="retail", name="show_history", description="Show what was bought.")
    hits, catalog = [SearchHit(tool=refund, score=1.0)], Catalog.from_tools([refund, history])
    learned = {history.key: LearnedResultType(schema={"type": "object", "properties": {"order_id": {}, "total": {}}}, calls=3)}

    assert "show_history" not in write_answer("refund", hits, AnswerSources(catalog=catalog, count=count), WantedAnswer()).text
    seen = AnswerSources(catalog=catalog, count=count, learned=learned)
    assert "# order_id: see retail.show_history" in write_answer("refund", hits, seen, WantedAnswer()).text
