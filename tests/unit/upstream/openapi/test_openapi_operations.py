"""OpenAPI operations become tools and requests."""

import json
from typing import Any

import pytest

from gristmill.errors import ConfigError, ToolFailed
from gristmill.upstream.openapi.openapi_operations import Operation, parse_document, read_operations

PET = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "tag": {"type": "string", "nullable": True},
        "kin": {"$ref": "#/components/schemas/Kin"},
    },
}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://{zone}.example/v1", "variables": {"zone": {"default": "eu"}}}],
    "components": {
        "schemas": {
            "Pet": PET,
            "Kin": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
            "Unused": {"type": "string"},
        },
        "parameters": {
            "Limit": {
                "name": "limit",
                "in": "query",
                "schema": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            }
        },
    },
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {
                "operationId": "get pet",
                "summary": "One pet",
                "parameters": [
                    {"$ref": "#/components/parameters/Limit"},
                    {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                    {
                        "name": "tags",
                        "in": "query",
                        "description": "any of",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                ],
                "responses": {
                    "200": {
                        "description": "ok",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                    }
                },
            },
        },
        "/pets": {
            "post": {
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                },
                "responses": {"201": {"description": "made"}},
            },
            "put": {
                "requestBody": {"content": {"application/json": {"schema": {"type": "array", "items": {"type": "integer"}}}}},
                "responses": {"200": {"description": "ok"}},
            },
        },
    },
}


def _operations() -> dict[str, Operation]:
    document = parse_document(json.dumps(DOCUMENT), "pets.json")
    assert document.base_url("pets.json") == "https://eu.example/v1"
    return {operation.tool.name: operation for operation in read_operations(document, "pets")}


def test_each_operation_is_a_tool_with_a_name() -> None:
    assert list(_operations()) == ["get_pet", "put_pets", "post_pets"]


def test_parameters_and_results_become_schemas_with_what_they_refer_to() -> None:
    tool = _operations()["get_pet"].tool
    assert tool.description == "One pet"
    assert tool.annotations == {"readOnlyHint": True, "destructiveHint": False}
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "limit": {"type": "integer", "exclusiveMinimum": 0},
            "X-Trace": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "any of"},
        },
        "additionalProperties": False,
        "required": ["id"],
    }
    assert tool.output_schema is not None
    assert tool.output_schema["$ref"] == "#/$defs/Pet"
    assert set(tool.output_schema["$defs"]) == {"Pet", "Kin"}
    assert tool.output_schema["$defs"]["Pet"]["properties"]["tag"] == {"type": ["string", "null"]}


def test_arguments_go_to_their_places() -> None:
    request = _operations()["get_pet"].request({"id": "a/b?c", "limit": 2, "X-Trace": "t", "tags": ["x", "y"]}, "https://h/v1/")
    assert request == {
        "method": "GET",
        "url": "https://h/v1/pets/a%2Fb%3Fc",
        "params": {"limit": 2, "tags": ["x", "y"]},
        "headers": {"X-Trace": "t"},
    }


def test_a_body_is_spread_or_whole() -> None:
    operations = _operations()
    assert operations["post_pets"].tool.input_schema["required"] == ["name"]
    assert operations["post_pets"].request({"name": "Rex"}, "https://h")["json"] == {"name": "Rex"}
    assert operations["put_pets"].request({"body": [1, 2]}, "https://h")["json"] == [1, 2]


@pytest.mark.parametrize("arguments", [{}, {"id": "1", "nope": 1}, {"id": ".."}, {"id": "1", "X-Trace": "a\r\nHost: evil"}])
def test_arguments_that_would_leave_their_place_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolFailed):
        _operations()["get_pet"].request(arguments, "https://h")


@pytest.mark.parametrize(
    "text",
    [
        "swagger: '2.0'",
        "a: [",
        "[]",
        json.dumps({"openapi": "3.1.0"}),
        json.dumps({**DOCUMENT, "paths": {"/a": {"get": {"parameters": 7}}}}),
    ],
)
def test_what_is_no_document_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_document(text, "x")


def test_a_reference_out_of_the_document_is_not_followed() -> None:
    paths: dict[str, Any] = {"/a": {"get": {"parameters": [{"$ref": "https://evil.example/p.json"}], "responses": {}}}}
    document = parse_document(json.dumps({**DOCUMENT, "paths": paths}), "x")
    with pytest.raises(ConfigError):
        list(read_operations(document, "s"))


def test_a_document_without_an_address_needs_one() -> None:
    document = parse_document(json.dumps({**DOCUMENT, "servers": []}), "x.json")
    with pytest.raises(ConfigError, match="base_url"):
        document.base_url("x.json")
    assert document.base_url("https://h.example/docs/openapi.json") == "https://h.example/"
