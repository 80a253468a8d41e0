import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gristmill.catalog.modules.python_annotations import build_annotation, build_record_classes
from gristmill.catalog.types.schema_types import MAX_RECORDS, describe_schema, read_schema
from gristmill.catalog.types.type_tree import ANY, ListOf, NamedType
from gristmill.model import Json


def written(schema: Json) -> str:
    typed = read_schema(schema, name="Thing")
    lines = [ast.unparse(ast.fix_missing_locations(node)) for node in build_record_classes(typed.records)]
    return "\n".join([*lines, ast.unparse(build_annotation(typed.type))])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, "Any"),
        (False, "Never"),
        ({}, "Any"),
        ({"type": "string"}, "str"),
        ({"type": ["integer", "null"]}, "int | None"),
        ({"type": "number", "nullable": True}, "float | None"),
        ({"type": "array", "items": {"type": "boolean"}}, "list[bool]"),
        ({"type": "array"}, "list[Any]"),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}, "tuple[str, int]"),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, "list[str | int]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"enum": ["a", "b", None]}, "Literal['a', 'b', None]"),
        ({"const": 5}, "Literal[5]"),
        ({"enum": [1.5, 2.5]}, "float"),
        ({"enum": [f"{number}" for number in range(1000)]}, "str"),
        ({"anyOf": [{"const": "a"}, {"type": "null"}, {"const": "b"}]}, "Literal['a', 'b'] | None"),
        ({"type": "string", "anyOf": [{"minLength": 1}, {"pattern": "x"}]}, "str"),
        ({"allOf": [{"description": "x"}, {"type": "string"}]}, "str"),
        ({"$ref": "https://example.com/schema.json"}, "Any"),
        ({"$ref": "#/nowhere"}, "Any"),
        ({"$ref": "#"}, "Any"),
        (
            {"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}},
            "list[Any]",
        ),
        ({"type": 5, "properties": [], "items": "x", "enum": {}, "anyOf": 3}, "Any"),
    ],
)
def test_a_schema_becomes_the_type_a_reader_expects(schema: Json, expected: str) -> None:
    assert written(schema) == expected


def test_objects_become_typed_dicts_with_optional_fields_and_documentation() -> None:
    schema = {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid", "description": "The\nid."},
            "tags": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        },
        "required": ["id"],
    }
    assert written(schema) == (
        "class ThingTagsItem(TypedDict):\n    name: NotRequired[str]\n"
        "class Thing(TypedDict):\n    id: str\n    'The id. (format uuid)'\n"
        "    tags: NotRequired[list[ThingTagsItem]]\n"
        "Thing"
    )


def test_keys_that_are_no_names_use_the_call_form() -> None:
    schema = {"properties": {"from": {"type": "string"}, "__x": {}, "a-b": {"type": "integer"}}, "required": ["from"]}
    assert written(schema) == (
        "Thing = TypedDict('Thing', {'from': str, '__x': NotRequired[Any], 'a-b': NotRequired[int]})\nThing"
    )


def test_keys_that_a_class_body_would_rewrite_use_the_call_form_too() -> None:
    assert written({"properties": {"__x": {}}}) == "Thing = TypedDict('Thing', {'__x': NotRequired[Any]})\nThing"


def test_a_recursive_schema_refers_to_its_own_record() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
    typed = read_schema({"$ref": "#/$defs/node", "$defs": {"node": node}}, name="Thing")
    assert typed.type == NamedType("Node")
    assert [field.type for field in typed.records[0].fields] == [NamedType("Node")]


def test_all_of_merges_objects_through_references() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}],
        "$defs": {"base": {"properties": {"a": {"type": "integer"}}}},
    }
    assert written(schema) == "class Thing(TypedDict):\n    a: NotRequired[int]\n    b: str\nThing"


def test_records_never_take_the_name_of_something_python_or_typing_has() -> None:
    schema: dict[str, Any] = {"$defs": {"any": {"properties": {"x": {}}}, "none": {"properties": {"x": {}}}}}
    for name in schema["$defs"]:
        typed = read_schema({**schema, "$ref": f"#/$defs/{name}"}, name="Thing")
        assert typed.records[0].name == f"{name.capitalize()}2"


def doubling(levels: int) -> Json:
    definitions: dict[str, Any] = {
        f"d{level}": {"anyOf": [{"type": "array", "items": {"$ref": f"#/$defs/d{level + 1}"}}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "string"}}}


@pytest.mark.timeout(20)
def test_a_schema_bomb_is_cut_short() -> None:
    assert len(written(doubling(60))) < 100_000
    many: Json = {"$ref": "#/$defs/d0", "$defs": {}}
    for level in range(12):
        many["$defs"][f"d{level}"] = {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 20}
    written(many)
    wide: dict[str, Any] = {
        "properties": {f"p{i}": {"properties": {f"q{j}": {"properties": {"x": {}}} for j in range(40)}} for i in range(40)}
    }
    assert len(read_schema(wide, name="Wide").records) <= MAX_RECORDS


def test_depth_ends_in_any() -> None:
    schema: Json = {"type": "string"}
    for _ in range(40):
        schema = {"type": "array", "items": schema}
    found = read_schema(schema, name="Deep").type
    for _ in range(13):
        assert isinstance(found, ListOf)
        found = found.item
    assert found == ANY


def test_a_description_shows_the_default_without_hidden_characters() -> None:
    assert describe_schema({"description": "a\u202eb\u200b", "default": "\u202e"}) == 'ab (default "\\u202e")'
    assert describe_schema(True) == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "required", "items", "prefixItems", "anyOf", "oneOf", "allOf", "$ref", "$defs"),
        *("enum", "const", "additionalProperties", "nullable", "default", "description", "format", "minimum"),
    ]
)
SCHEMAS = st.recursive(
    JSON, lambda inner: st.dictionaries(KEYWORDS, inner, max_size=5) | st.lists(inner, max_size=3), max_leaves=20
)


@given(SCHEMAS)
def test_anything_at_all_becomes_some_type(schema: Json) -> None:
    ast.parse(written(schema))
