"""Answers become values."""

from typing import Any

import pytest
from mcp_types import CallToolResult

from gristmill.errors import ToolFailed
from gristmill.upstream.mcp.blob import Blob
from gristmill.upstream.mcp.tool_results import text_to_value, to_value
from gristmill.upstream.mcp.unwrap_results import inner_schema, unwrapped


def _result(*content: dict[str, Any], **more: Any) -> CallToolResult:
    return CallToolResult.model_validate({"content": list(content), **more})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        (" [1]\n", [1]),
        ("42", "42"),
        ("007", "007"),
        ("true", "true"),
        ('"quoted"', '"quoted"'),
        ("{not json}", "{not json}"),
        ("[" * 100_000, "[" * 100_000),
        ("", ""),
        ('{"mean": NaN, "rows": [Infinity, -Infinity, 2.5]}', {"mean": None, "rows": [None, None, 2.5]}),
        ('{"word": "NaN"}', {"word": "NaN"}),
        ("[NaN, and more", "[NaN, and more"),
        ("NaN", "NaN"),
    ],
)
def test_text_becomes_data_only_if_it_is_an_object_or_an_array(text: str, value: Any) -> None:
    assert text_to_value(text) == value


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], 7, "text", False, 0])
def test_structured_content_is_the_value_whatever_its_type(value: Any) -> None:
    assert to_value(_result(_text("the same as text"), structuredContent=value)) == value


def test_blocks_become_the_value() -> None:
    assert to_value(_result()) is None
    assert to_value(_result(_text("one"))) == "one"
    assert to_value(_result(_text("one"), _text("[2]"))) == ["one", [2]]


def test_a_blob_hides_its_bytes() -> None:
    blob = to_value(_result({"type": "image", "data": "aGk=", "mimeType": "image/png"}))
    assert blob == Blob(data=b"hi", mime="image/png")
    assert "hi" not in repr(blob)


def test_an_error_is_raised_with_its_text_or_its_structure() -> None:
    with pytest.raises(ToolFailed, match="no luck"):
        to_value(_result(_text("no luck"), isError=True))
    with pytest.raises(ToolFailed, match=r'\{"code":7\}'):
        to_value(_result(isError=True, structuredContent={"code": 7}))
    with pytest.raises(ToolFailed, match="did not say why"):
        to_value(_result(isError=True))
    with pytest.raises(ToolFailed) as caught:
        to_value(_result(_text("x" * 100_000), isError=True))
    assert len(str(caught.value)) == 2_000


WRAPPED: dict[str, Any] = {
    "type": "object",
    "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Row"}}},
    "required": ["result"],
    "$defs": {"Row": {"type": "object"}},
    "x-fastmcp-wrap-result": True,
}


def test_a_list_that_the_schema_says_is_wrapped_is_the_list() -> None:
    schema = inner_schema(WRAPPED)
    assert schema == {"$defs": WRAPPED["$defs"], **WRAPPED["properties"]["result"], "x-fastmcp-wrap-result": True}
    result = _result(_text("[1]"), structuredContent={"result": [{"a": 1}]})
    assert to_value(unwrapped(result, schema)) == [{"a": 1}]
    assert to_value(unwrapped(_result(_text("null"), structuredContent={"result": None}), schema)) is None


@pytest.mark.parametrize(
    "schema", [None, {"type": "object", "properties": WRAPPED["properties"]}, {"x-fastmcp-wrap-result": "no"}]
)
def test_an_object_that_happens_to_have_a_result_stays_an_object(schema: dict[str, Any] | None) -> None:
    assert inner_schema(schema) == schema
    assert to_value(unwrapped(_result(structuredContent={"result": [1]}), schema)) == {"result": [1]}


def test_more_than_what_was_wrapped_is_not_lost() -> None:
    both = {"result": [1], "cursor": "x"}
    assert to_value(unwrapped(_result(structuredContent=both), inner_schema(WRAPPED))) == both
