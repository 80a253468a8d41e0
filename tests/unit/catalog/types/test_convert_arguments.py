"""Arguments that do not fit are converted where the schema leaves no doubt, and only there."""

from typing import Any

import pytest

from gristmill.catalog.types.schema_checker import SchemaChecker
from gristmill.model import Tool

PROPERTIES: dict[str, Any] = {
    "n": {"type": "integer"},
    "x": {"type": ["number", "null"]},
    "flag": {"type": "boolean"},
    "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
    "ids": {"type": "array", "items": {"$ref": "#/$defs/Id"}},
    "filter": {"$ref": "#/$defs/Filter"},
    "either": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
    "both": {"anyOf": [{"type": "array"}, {"type": "object"}]},
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "kind": {"enum": ["open", "closed"]},
    "small": {"type": "integer", "maximum": 5},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": PROPERTIES,
    "required": ["n"],
    "$defs": {
        "Id": {"type": "integer"},
        "Filter": {"type": "object", "properties": {"year": {"type": "integer"}, "name": {"type": "string"}}},
    },
}
TOOL = Tool(server="pam", name="list", input_schema=SCHEMA)


def convert(**arguments: Any) -> tuple[dict[str, Any], tuple[str, ...]] | None:
    found = SchemaChecker().convert_arguments(TOOL, arguments, lambda value: value)
    if found is not None:
        assert SchemaChecker().check_arguments(TOOL, found.arguments) == ()
    return None if found is None else (found.arguments, found.changes)


@pytest.mark.parametrize(
    ("given", "sent", "change"),
    [
        ({"n": "7"}, {"n": 7}, "n was given as string and sent as integer"),
        ({"n": 1, "x": "1.5"}, {"n": 1, "x": 1.5}, "x was given as string and sent as number"),
        ({"n": 1, "flag": "true"}, {"n": 1, "flag": True}, "flag was given as string and sent as boolean"),
        ({"n": 1, "flag": None}, {"n": 1}, "flag was null and was left out"),
        ({"n": 1, "tags": "a"}, {"n": 1, "tags": ["a"]}, "tags was given as string and sent as array"),
        ({"n": 1, "tags": '["a", "b"]'}, {"n": 1, "tags": ["a", "b"]}, "tags was given as string and sent as array"),
        ({"n": 1, "ids": 5}, {"n": 1, "ids": [5]}, "ids was given as integer and sent as array"),
        ({"n": 1, "ids": ["5", 6]}, {"n": 1, "ids": [5, 6]}, "ids[0] was given as string and sent as integer"),
        ({"n": 1, "filter": '{"name": "a"}'}, {"n": 1, "filter": {"name": "a"}}, "filter was given as string and sent as object"),
        ({"n": 1, "filter": {"year": "2026", "name": None}}, {"n": 1, "filter": {"year": 2026}}, "filter.name was null and was left out"),
        ({"n": 1, "either": "true"}, {"n": 1, "either": True}, "either was given as string and sent as boolean"),
    ],
)  # fmt: skip
def test_arguments_are_converted_where_there_is_no_doubt(given: Any, sent: Any, change: str) -> None:
    converted = convert(**given)
    assert converted is not None
    assert converted[0] == sent
    assert change in converted[1]


def test_a_conversion_may_uncover_another() -> None:
    assert convert(n="1", ids='["5"]', filter='{"year": "2026"}') == (
        {"n": 1, "ids": [5], "filter": {"year": 2026}},
        (
            "n was given as string and sent as integer",
            "ids was given as string and sent as array",
            "filter was given as string and sent as object",
            "ids[0] was given as string and sent as integer",
            "filter.year was given as string and sent as integer",
        ),
    )


@pytest.mark.parametrize(
    "given",
    [
        {"n": "seven"}, {"n": None}, {"n": 7.5}, {}, {"n": 1, "ids": [None]}, {"n": 1, "both": '{"a": 1}'}, {"n": 1, "tags": "a, b"},
        {"n": 1, "counts": {"a": None}}, {"n": 1, "kind": "Open"}, {"n": 1, "small": "9"}, {"n": "7", "kind": "other"},
        {"n": 1, "filter": {"name": 5}},
    ],
)  # fmt: skip
def test_a_real_mismatch_stays_one(given: Any) -> None:
    assert convert(**given) is None


def test_what_was_given_is_not_changed() -> None:
    given = {"n": "7", "filter": {"year": "2026"}}
    assert convert(**given) is not None
    assert given == {"n": "7", "filter": {"year": "2026"}}


def test_masks_are_judged_by_what_they_stand_for_and_kept() -> None:
    tool = Tool(server="crm", name="get", input_schema={"properties": {"n": {"type": "integer"}, "who": {"pattern": "@"}}})
    found = SchemaChecker().convert_arguments(
        tool, {"n": "7", "who": "<EMAIL_1>"}, lambda value: {**value, "who": "ann@example.org"}
    )
    assert found is not None
    assert found.arguments == {"n": 7, "who": "<EMAIL_1>"}


def test_a_schema_that_contains_itself_or_cannot_be_used_converts_nothing() -> None:
    for schema in ({"properties": {"n": {"type": "integer"}, "in": {"$ref": "#"}}}, {"type": 5}):
        tool = Tool(server="crm", name="get", input_schema=schema)
        assert SchemaChecker().convert_arguments(tool, {"n": "7"}, lambda value: value) is None
