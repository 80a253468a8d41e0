import pytest

from gristmill.catalog.catalog import Catalog, CatalogDifference, SkippedTool, compare_catalogs, hash_definition
from gristmill.errors import UnknownTool
from gristmill.model import Json, Tool


def tool(server: str = "crm", name: str = "get", **more: Json) -> Tool:
    return Tool(server=server, name=name, **more)


def test_the_version_depends_on_content_and_not_on_order() -> None:
    one, two = tool(name="a"), tool(name="b")
    assert Catalog.from_tools([one, two]).version == Catalog.from_tools([two, one]).version
    assert Catalog.from_tools([one]).version != Catalog.from_tools([one, two]).version


def test_the_order_of_keys_does_not_count_but_the_order_of_parameters_does() -> None:
    first = tool(input_schema={"type": "object", "properties": {"a": {}, "b": {}}})
    same = tool(input_schema={"properties": {"a": {}, "b": {}}, "type": "object"})
    swapped = tool(input_schema={"type": "object", "properties": {"b": {}, "a": {}}})
    assert hash_definition(first) == hash_definition(same) != hash_definition(swapped)


def test_a_difference_names_what_was_added_removed_and_changed() -> None:
    old = Catalog.from_tools([tool(name="gone"), tool(name="kept"), tool(name="other")])
    new = Catalog.from_tools([tool(name="kept"), tool(name="new"), tool(name="other", description="another")])
    assert compare_catalogs(old, new) == CatalogDifference(added=("crm.new",), removed=("crm.gone",), changed=("crm.other",))
    assert not compare_catalogs(old, old)


def test_a_tool_is_found_by_key_and_by_its_python_spelling() -> None:
    catalog = Catalog.from_tools([tool("my-crm", "get-user")])
    assert catalog.get("my-crm.get-user") is catalog.get("my_crm.get_user")
    assert (catalog.modules, catalog.functions) == ({"my-crm": "my_crm"}, {"my-crm.get-user": "get_user"})


def test_an_unknown_key_answers_with_near_ones() -> None:
    catalog = Catalog.from_tools([tool("crm", "get_customer"), tool("shop", "list_orders")])
    with pytest.raises(UnknownTool) as misspelt:
        catalog.get("crm.get_custmer")
    with pytest.raises(UnknownTool) as elsewhere:
        catalog.get("crm.list_orders")
    assert (misspelt.value.near, elsewhere.value.near[0]) == (("crm.get_customer",), "shop.list_orders")


def test_a_second_tool_of_the_same_key_is_left_out() -> None:
    catalog = Catalog.from_tools([tool("a", "b.c"), tool("a.b", "c", description="an impostor")])
    assert catalog.get("a.b.c").server == "a"
    assert catalog.left_out == (SkippedTool(key="a.b.c", reason="another tool has the same key"),)


def nested(depth: int) -> Json:
    value: Json = {}
    for _ in range(depth):
        value = {"items": value}
    return value


@pytest.mark.parametrize(
    "schema",
    [
        nested(10_000),
        {"enum": list(range(60_000))},
        {"description": "x" * 2_000_000},
        {"properties": {1: {}}},
        {"default": object()},
        {"default": 1 << 100_000},
    ],
    ids=["deep", "wide", "long", "key", "object", "number"],
)
def test_a_definition_out_of_bounds_is_left_out(schema: Json) -> None:
    catalog = Catalog.from_tools([tool(name="bad", input_schema=schema), tool(name="good")])
    assert list(catalog.tools) == ["crm.good"]
    assert [each.key for each in catalog.left_out] == ["crm.bad"]
