"""Types in an answer: two levels deep, whole names, and a record that several tools share once."""

import pytest

from gristmill.catalog.answers.answer_types import AnswerTypes
from gristmill.catalog.modules.tool_module import ToolStub, build_stub
from gristmill.model import Json, Tool

ITEM: dict[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "price": {"type": "number"},
        "options": {"type": "object", "properties": {"a": {}}},
    },
    "required": ["name"],
}
ORDER: dict[str, Json] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "items": {"type": "array", "items": ITEM}},
    "required": ["order_id", "items"],
}


def make_stub(name: str, result: dict[str, Json]) -> ToolStub:
    return build_stub(Tool(server="shop", name=name, output_schema=result), name)


def test_a_result_is_written_two_levels_deep_where_it_stands() -> None:
    stub = make_stub("get_order_details", ORDER)

    written = AnswerTypes([stub]).write(stub)

    assert written.result == "{order_id: str, items: list[{name: str, price?: float, options?: dict}]}"
    assert written.lines == ()


def test_a_record_of_several_tools_is_defined_once_with_a_short_name() -> None:
    stubs = [make_stub(name, ORDER) for name in ("get_order_details", "modify_pending_order_address")]
    types = AnswerTypes(stubs)

    first, second = (types.write(stub) for stub in stubs)

    assert first.result == second.result == "OrderDetails"
    assert first.lines[0].startswith("OrderDetails = {order_id: str, items: list[")
    assert second.lines == ()


def test_records_that_differ_have_different_names() -> None:
    other: dict[str, Json] = {**ORDER, "required": []}
    stubs = [make_stub(name, schema) for name in ("get_order", "list_order") for schema in (ORDER, other)]

    types = AnswerTypes(stubs)

    assert len({types.write(stub).result for stub in stubs}) == 2


@pytest.mark.parametrize("count", [30, 200])
def test_a_large_record_names_whole_fields_and_counts_the_others(count: int) -> None:
    stub = make_stub("get_row", {"type": "object", "properties": {f"field_{i}": {"type": "string"} for i in range(count)}})

    written = AnswerTypes([stub]).write(stub)

    assert written.result.endswith(f", field_23?: str, ... {count - 24} more}}")


def test_a_record_that_contains_itself_ends() -> None:
    node: dict[str, Json] = {"$ref": "#/$defs/Node"}
    fields: dict[str, Json] = {"name": {"type": "string"}, "children": {"type": "array", "items": node}}
    stub = make_stub("get_tree", {"$defs": {"Node": {"type": "object", "properties": fields}}, **node})

    assert "name?: str" in "".join((AnswerTypes([stub]).write(stub).result, *AnswerTypes([stub]).write(stub).lines))
