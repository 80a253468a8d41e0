"""OpenAPI operations become tools and requests."""

import json
from typing import Any

import pytest

from gristmill.errors import ConfigError, ToolFailed
from gristmill.upstream.openapi.openapi_operations import OpenApiOperation, parse_document, read_operations

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


def _operations() -> dict[str, OpenApiOperation]:
    document = parse_document(json.dumps(DOCUMENT), "pets.json")
    assert document.find_base_url("pets.json") == "https://eu.example/v1"
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
    request = _operations()["get_pet"].build_request(
        {"id": "a/b?c", "limit": 2, "X-Trace": "t", "tags": ["x", "y"]}, "https://h/v1/"
    )
    assert request == {
        "method": "GET",
        "url": "https://h/v1/pets/a%2Fb%3Fc",
        "params": {"limit": 2, "tags": ["x", "y"]},
        "headers": {"X-Trace": "t"},
    }


def test_a_body_is_spread_or_whole() -> None:
    operations = _operations()
    assert operations["post_pets"].tool.input_schema["required"] == ["name"]
    assert operations["post_pets"].build_request({"name": "Rex"}, "https://h")["json"] == {"name": "Rex"}
    assert operations["put_pets"].build_request({"body": [1, 2]}, "https://h")["json"] == [1, 2]


def test_a_body_that_is_required_is_sent_although_all_its_fields_are_optional() -> None:
    schema = {"type": "object", "properties": {"area": {"type": "string"}}}
    body: dict[str, Any] = {"content": {"application/json": {"schema": schema}}}
    assert _one("/x", requestBody={**body, "required": True}).build_request({}, "https://h")["json"] == {}
    assert "json" not in _one("/x", requestBody=body).build_request({}, "https://h")
    assert "json" not in _one("/x").build_request({}, "https://h")


@pytest.mark.parametrize("arguments", [{}, {"id": "1", "nope": 1}, {"id": ".."}, {"id": "1", "X-Trace": "a\r\nHost: evil"}])
def test_arguments_that_would_leave_their_place_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolFailed):
        _operations()["get_pet"].build_request(arguments, "https://h")


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
        document.find_base_url("x.json")
    assert document.find_base_url("https://h.example/docs/openapi.json") == "https://h.example/"


def _one(path: str, **operation: Any) -> OpenApiOperation:
    paths: dict[str, Any] = {path: {"get": {"operationId": "it", "responses": {}, **operation}}}
    document = parse_document(json.dumps({**DOCUMENT, "paths": paths}), "x")
    return next(iter(read_operations(document, "s", ["X-Shop-Key"])))


@pytest.mark.requirement("T90")
@pytest.mark.parametrize("base", ["https://api.example", "https://api.example/", "https://api.example/v1"])
@pytest.mark.parametrize(
    "path",
    ["@evil.example/x", ".evil.example/x", ":8080/x", "\\@evil.example/x", "/../x", "/%2e%2e/x", "/a/%2E%2e%2fx", "/..\\x"],
)
def test_a_path_cannot_lead_out_of_the_base_address(path: str, base: str) -> None:
    with pytest.raises(ToolFailed):
        _one(path).build_request({}, base)


@pytest.mark.requirement("T90")
def test_arguments_together_cannot_lead_out_of_the_base_address() -> None:
    names: list[dict[str, Any]] = [{"name": name, "in": "path", "required": True, "schema": {}} for name in ("a", "b")]
    operation = _one("/x/{a}{b}/y", parameters=names)
    with pytest.raises(ToolFailed, match="dot segment"):
        operation.build_request({"a": ".", "b": "."}, "https://api.example/v1")
    assert operation.build_request({"a": "//", "b": "@h"}, "https://h/v1")["url"] == "https://h/v1/x/%2F%2F%40h/y"


@pytest.mark.requirement("T90")
@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "x-shop-key",
        "X_Shop_Key",
        "AUTHORIZATION",
        "Cookie",
        "Transfer-Encoding",
        "X-Forwarded-For",
        "X-Declared",
        "a\r\nHost",
    ],
)
def test_a_header_parameter_cannot_replace_a_header_of_ours(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {"key": {"type": "apiKey", "in": "header", "name": "X-Declared"}}
    monkeypatch.setitem(DOCUMENT["components"], "securitySchemes", keys)
    headers: list[dict[str, Any]] = [{"name": each, "in": "header", "required": True, "schema": {}} for each in (name, "X-Trace")]
    operation = _one("/x", parameters=headers)
    assert list(operation.tool.input_schema["properties"]) == ["X-Trace"]
    assert operation.tool.input_schema["required"] == ["X-Trace"]
    with pytest.raises(ToolFailed, match="no parameter"):
        operation.build_request({name: "evil.example"}, "https://api.example")


@pytest.mark.requirement("T90")
def test_a_cookie_parameter_writes_one_cookie_and_never_replaces_ours() -> None:
    cookies: list[dict[str, Any]] = [{"name": name, "in": "cookie", "schema": {}} for name in ("plain", "a; session")]
    paths: dict[str, Any] = {"/x": {"get": {"operationId": "it", "responses": {}, "parameters": cookies}}}
    document = parse_document(json.dumps({**DOCUMENT, "paths": paths}), "x")
    (operation,) = read_operations(document, "s")
    assert operation.build_request({"plain": "1; b=2"}, "https://h")["headers"] == {"Cookie": "plain=1%3B%20b%3D2"}
    assert list(operation.places) == ["plain"]
    (operation,) = read_operations(document, "s", ["cookie"])
    assert list(operation.places) == []


@pytest.mark.requirement("T90")
@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example",
        "http://h.example/v1",
        "https://h.example:8443/v1",
        "//evil.example",
        "https://h.example@evil.example",
    ],
)
def test_a_fetched_document_cannot_name_another_origin(url: str) -> None:
    document = parse_document(json.dumps({**DOCUMENT, "servers": [{"url": url}]}), "x")
    with pytest.raises(ConfigError, match="set base_url"):
        document.find_base_url("https://h.example/openapi.json")


@pytest.mark.parametrize(
    "url", ["https://u:p@h.example/v1", "https://h.example/v1?a=b", "https://h.example/v1#a", "https://h.example?"]
)
def test_a_base_address_to_which_no_path_can_be_appended_is_refused(url: str) -> None:
    document = parse_document(json.dumps({**DOCUMENT, "servers": [{"url": url}]}), "x")
    with pytest.raises(ConfigError, match="base_url"):
        document.find_base_url("file.json")
