"""Answers become values."""

from typing import Any

import pytest

from gristmill.errors import ToolFailed, UpstreamError
from gristmill.upstream.json_limits import JsonLimits
from gristmill.upstream.mcp.blob import Blob
from gristmill.upstream.mcp.tool_answer import ToolAnswer, read_answer
from gristmill.upstream.mcp.tool_results import TextConverter, convert_result
from gristmill.upstream.mcp.unwrap_results import unwrap_result, unwrap_schema

LIMITS = JsonLimits()


def _result(*content: dict[str, Any], **more: Any) -> ToolAnswer:
    return read_answer({"content": list(content), **more})


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
    assert TextConverter(LIMITS).convert(text) == value


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], 7, "text", False, 0])
def test_structured_content_is_the_value_whatever_its_type(value: Any) -> None:
    assert convert_result(_result(_text("the same as text"), structuredContent=value), LIMITS) == value


def test_blocks_become_the_value() -> None:
    assert convert_result(_result(), LIMITS) is None
    assert convert_result(_result(_text("one")), LIMITS) == "one"
    assert convert_result(_result(_text("one"), _text("[2]")), LIMITS) == ["one", [2]]


def test_a_blob_hides_its_bytes() -> None:
    blob = convert_result(_result({"type": "image", "data": "aGk=", "mimeType": "image/png"}), LIMITS)
    assert blob == Blob(data=b"hi", mime="image/png")
    assert "hi" not in repr(blob)


def test_an_error_is_raised_with_its_text_or_its_structure() -> None:
    with pytest.raises(ToolFailed, match="no luck"):
        convert_result(_result(_text("no luck"), isError=True), LIMITS)
    with pytest.raises(ToolFailed, match=r'\{"code":7\}'):
        convert_result(_result(isError=True, structuredContent={"code": 7}), LIMITS)
    with pytest.raises(ToolFailed, match="did not say why"):
        convert_result(_result(isError=True), LIMITS)
    with pytest.raises(ToolFailed) as caught:
        convert_result(_result(_text("x" * 100_000), isError=True), LIMITS)
    assert len(str(caught.value)) == 2_000


WRAPPED: dict[str, Any] = {
    "type": "object",
    "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Row"}}},
    "required": ["result"],
    "$defs": {"Row": {"type": "object"}},
    "x-fastmcp-wrap-result": True,
}


def test_a_list_that_the_schema_says_is_wrapped_is_the_list() -> None:
    schema = unwrap_schema(WRAPPED)
    assert schema == {"$defs": WRAPPED["$defs"], **WRAPPED["properties"]["result"], "x-fastmcp-wrap-result": True}
    result = _result(_text("[1]"), structuredContent={"result": [{"a": 1}]})
    assert convert_result(unwrap_result(result, schema), LIMITS) == [{"a": 1}]
    assert convert_result(unwrap_result(_result(_text("null"), structuredContent={"result": None}), schema), LIMITS) is None


SDK_WRAPPED: dict[str, Any] = {
    "type": "object",
    "title": "get_expensesOutput",
    "properties": {"result": {"type": "array", "title": "Result", "items": {"type": "integer"}}},
    "required": ["result"],
}


def test_a_list_that_the_official_sdk_has_wrapped_is_the_list() -> None:
    schema = unwrap_schema(SDK_WRAPPED)
    assert schema is not None
    assert schema["type"] == "array"
    assert convert_result(unwrap_result(_result(structuredContent={"result": [1, 2]}), schema), LIMITS) == [1, 2]


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "object", "properties": WRAPPED["properties"]},
        {"x-fastmcp-wrap-result": "no"},
        {**SDK_WRAPPED, "title": "SearchOutput"},
        {**SDK_WRAPPED, "title": "get_expenses"},
        {**SDK_WRAPPED, "required": []},
        {**SDK_WRAPPED, "properties": {**SDK_WRAPPED["properties"], "cursor": {"type": "string"}}},
    ],
)
def test_an_object_that_happens_to_have_a_result_stays_an_object(schema: dict[str, Any] | None) -> None:
    assert unwrap_schema(schema) == schema
    assert convert_result(unwrap_result(_result(structuredContent={"result": [1]}), schema), LIMITS) == {"result": [1]}


def test_more_than_what_was_wrapped_is_not_lost() -> None:
    both = {"result": [1], "cursor": "x"}
    assert convert_result(unwrap_result(_result(structuredContent=both), unwrap_schema(WRAPPED)), LIMITS) == both


def test_texts_of_one_answer_share_the_limit_on_values() -> None:
    texts = TextConverter(JsonLimits(values=1_000))
    many = "[" + ",".join(["{}"] * 400) + "]"
    assert texts.convert(many) == [{}] * 400
    assert texts.convert(many) == many
    assert texts.convert("[1]") == [1]


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "no list"},
        {"content": [{"type": "unknown"}]},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "resource", "resource": {"uri": "x:y"}}]},
    ],
)
def test_an_answer_that_is_not_mcp_is_an_error_of_the_server(fields: dict[str, Any]) -> None:
    with pytest.raises(UpstreamError, match="not MCP"):
        read_answer(fields)
