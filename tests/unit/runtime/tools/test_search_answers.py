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
