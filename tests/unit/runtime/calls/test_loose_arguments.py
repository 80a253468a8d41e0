"""Arguments get the names that the tool has for them, where the schema leaves no doubt."""

from typing import Any

import pytest

from gristmill.errors import ToolFailed
from gristmill.model import Tool, ToolCall
from gristmill.runtime.calls.loose_arguments import name_arguments


def name(schema: dict[str, Any], *positional: Any, **arguments: Any) -> dict[str, Any]:
    tool = Tool(server="crm", name="find", input_schema=schema)
    named = name_arguments(ToolCall(id=1, tool="crm.find", arguments=arguments, positional=positional, execution="e"), tool)
    assert named.positional == ()
    return dict(named.arguments)


def schema(*required: str, extra: object = None, **properties: object) -> dict[str, Any]:
    kinds = {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in properties.items()}
    return {"properties": kinds, "required": list(required), **({} if extra is None else {"additionalProperties": extra})}


PLAIN = schema("user_id", user_id="integer", category="string")
EITHER = {"anyOf": [{"type": "string"}, {"type": "null"}]}
OBJECT = schema("fields", fields="object", limit="integer")


@pytest.mark.parametrize(
    ("kinds", "given", "expected"),
    [
        (PLAIN, {"user_id": 7}, {"user_id": 7}),
        (PLAIN, {"userId": 7, "Category": "fuel"}, {"user_id": 7, "category": "fuel"}),
        (PLAIN, {"user-id": 7}, {"user_id": 7}),
        (PLAIN, {"usr_id": 7}, {"usr_id": 7}),
        (PLAIN, {"user_id": 7, "userId": 8}, {"user_id": 7, "userId": 8}),
        (PLAIN, {"userId": 7, "user-id": 8}, {"userId": 7, "user-id": 8}),
        (PLAIN, {"arguments": {"user_id": 7}}, {"user_id": 7}),
        (PLAIN, {"params": {"userId": 7}}, {"user_id": 7}),
        (PLAIN, {"arguments": {"$planned": [1]}}, {"arguments": {"$planned": [1]}}),
        (schema(arguments="object"), {"arguments": {"a": 1}}, {"arguments": {"a": 1}}),
        (schema(user_id="integer", extra=True), {"userId": 7}, {"userId": 7}),
        (schema("user_id", user_id="integer", extra=True), {"userId": 7}, {"user_id": 7}),
        (schema(a_b="integer", aB="integer"), {"a-b": 1}, {"a-b": 1}),
        ({}, {"userId": 7}, {"userId": 7}),
    ],
)
def test_spellings(kinds: dict[str, Any], given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert name(kinds, **given) == expected


@pytest.mark.parametrize(
    ("kinds", "only", "expected"),
    [
        (PLAIN, {"user_id": 7}, {"user_id": 7}),
        (PLAIN, {"userId": 7}, {"user_id": 7}),
        (PLAIN, {"unknown": 7}, {"unknown": 7}),
        (schema(name=EITHER), {"name": "x"}, {"name": "x"}),
        (OBJECT, {"name": "ann"}, {"fields": {"name": "ann"}}),
        (OBJECT, {"limit": 2}, {"fields": {"limit": 2}}),
        (OBJECT, {"fields": {"name": "ann"}, "limit": 2}, {"fields": {"name": "ann"}, "limit": 2}),
        (OBJECT, {"fields": 1, "other": 2}, {"fields": {"fields": 1, "other": 2}}),
        (OBJECT, {"$planned": [1]}, {"fields": {"$planned": [1]}}),
        (PLAIN, {"$planned": [1]}, {"user_id": {"$planned": [1]}}),
        (schema(), {"a": 1}, {"a": 1}),
    ],
)
def test_one_dictionary(kinds: dict[str, Any], only: dict[str, Any], expected: dict[str, Any]) -> None:
    assert name(kinds, only) == expected


def test_positions_follow_the_schema_with_required_ones_first() -> None:
    assert name(schema("b", a="integer", b="integer"), 1, 2) == {"b": 1, "a": 2}
    with pytest.raises(ToolFailed, match="takes at most 2"):
        name(PLAIN, 1, 2, 3)
    with pytest.raises(ToolFailed, match="user_id twice"):
        name(PLAIN, 1, user_id=2)
