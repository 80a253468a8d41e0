"""Tools of an OpenAPI document get the name of the function behind an operation, and marks for operations that only read."""

from typing import Any

import msgspec
from fastapi import FastAPI

from gristmill.upstream.openapi.openapi_operations import OpenApiOperation, parse_document, read_operations


def read_tools(document: dict[str, Any], *reads: str) -> dict[str, OpenApiOperation]:
    found = read_operations(parse_document(msgspec.json.encode(document).decode(), "x"), "home", reads=reads)
    return {operation.tool.name: operation for operation in found}


def read_paths(**operations: Any) -> list[str]:
    """Returns the names of tools; each operation is given as ``METHOD__PATH=ID``."""
    paths: dict[str, Any] = {}
    for key, given in operations.items():
        method, _, path = key.partition("__")
        ids = {"operationId": given} if given else {}
        paths.setdefault("/" + path.replace("__", "/"), {})[method] = {**ids, "responses": {}}
    document: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    return list(read_tools(document))


def test_ids_that_fastapi_generates_become_the_name_of_the_function() -> None:
    app = FastAPI()

    @app.post("/mcp/tools/query_device_history", openapi_extra={"x-read-only": True})
    def query_device_history(entity_id: str) -> list[str]:
        return [entity_id]

    @app.get("/devices/{device-id}/all")
    def list_all() -> list[str]:
        return []

    @app.post("/devices")
    def add_device(name: str) -> str:
        return name

    tools = read_tools(app.openapi())
    assert list(tools) == ["query_device_history", "list_all", "add_device"]
    assert [tool.tool.annotations["readOnlyHint"] for tool in tools.values()] == [True, True, False]
    assert tools["query_device_history"].id == "query_device_history_mcp_tools_query_device_history_post"
    assert tools["query_device_history"].build_request({"entity_id": "light.a"}, "http://h")["url"] == (
        "http://h/mcp/tools/query_device_history"
    )


def test_two_functions_of_one_name_keep_their_long_names() -> None:
    names = read_paths(get__a__find="find_a_find_get", get__b__find="find_b_find_get", get__c="only_c_get")
    assert names == ["find_a_find_get", "find_b_find_get", "only"]


def test_a_name_that_another_operation_has_already_is_not_taken() -> None:
    assert read_paths(get__a="find_a_get", get__b="find") == ["find_a_get", "find"]


def test_ids_that_a_person_wrote_and_paths_without_an_id_stay_as_they_are() -> None:
    names = read_paths(get__a="get_a_get_item", post__b="post", get__pets="", get__c="_c_get")
    assert names == ["get_a_get_item", "post", "get_pets", "c_get"]


def test_the_configuration_says_which_operations_only_read() -> None:
    paths: dict[str, Any] = {
        "/query": {"post": {"operationId": "query_query_post", "responses": {}}},
        "/old": {"delete": {"operationId": "old_old_delete", "responses": {}}},
    }
    document: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
    for pattern in ("query", "query_*_post"):
        marks = {name: tool.tool.annotations for name, tool in read_tools(document, pattern).items()}
        assert marks["query"] == {"readOnlyHint": True, "destructiveHint": False}
        assert marks["old"] == {"readOnlyHint": False, "destructiveHint": True}


def test_only_a_clear_yes_of_the_document_marks_an_operation() -> None:
    for given in ("yes", 1, False, None):
        paths: dict[str, Any] = {"/q": {"post": {"operationId": "q", "x-read-only": given, "responses": {}}}}
        document: dict[str, Any] = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths}
        assert read_tools(document)["q"].tool.annotations["readOnlyHint"] is False
