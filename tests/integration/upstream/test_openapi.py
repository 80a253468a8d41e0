"""An OpenAPI document as a server, against a real API."""

import json
from pathlib import Path
from typing import Any

import pytest

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.errors import ToolFailed, UpstreamUnavailable
from gristmill.upstream.open_upstreams import open_upstreams
from tests.integration.upstream.conftest import call, opened, web, world

pytestmark = pytest.mark.anyio

PATHS: dict[str, Any] = {
    "/stats": {"get": {"operationId": "stats", "responses": {"200": {"description": "ok"}}}},
    "/missing": {"get": {"operationId": "missing", "responses": {"200": {"description": "ok"}}}},
    "/bad": {
        "post": {
            "operationId": "token",
            "requestBody": {"content": {"application/json": {"schema": {}}}},
            "responses": {},
        }
    },
}


def _document(folder: Path, url: str) -> str:
    file = folder / "api.json"
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "servers": [{"url": url}], "paths": PATHS}
    file.write_text(json.dumps(document))
    return str(file)


async def test_an_operation_is_called_and_its_json_comes_back(tmp_path: Path) -> None:
    async with web() as at, opened(api=ServerConfig(openapi=_document(tmp_path, at["issuer"]))) as upstreams:
        assert (await call(upstreams, "api.stats"))["register"] == 0
        assert [tool.key for tool in upstreams.tools] == ["api.stats", "api.missing", "api.token"]
        with pytest.raises(ToolFailed, match="HTTP 404"):
            await call(upstreams, "api.missing")


async def test_the_base_url_and_the_token_come_from_the_configuration(tmp_path: Path) -> None:
    async with web() as at:
        config = ServerConfig(
            openapi=_document(tmp_path, "https://elsewhere.example"),
            base_url=at["plain"],
            headers={"Authorization": "Bearer ${env:TOKEN}"},
        )
        async with open_upstreams({"api": config}, world(environ={"TOKEN": "s3cret-1"})) as upstreams:
            body = {"id": 1, "method": "tools/call", "params": {"name": "token"}}
            answer = await call(upstreams, "api.token", body=body)
        assert answer["result"]["content"][0]["text"] == "Bearer s3cret-1"


async def test_a_document_that_cannot_be_used_fails_alone(tmp_path: Path) -> None:
    (tmp_path / "no.yaml").write_text("swagger: '2.0'")
    async with opened(api=ServerConfig(openapi=str(tmp_path / "no.yaml"))) as upstreams:
        with pytest.raises(UpstreamUnavailable, match="OpenAPI 3"):
            await call(upstreams, "api.x")
        assert upstreams["api"].status.state == "failed"


async def test_an_api_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    async with opened(api=ServerConfig(openapi=_document(tmp_path, "http://127.0.0.1:1"))) as upstreams:
        with pytest.raises(UpstreamUnavailable):
            await call(upstreams, "api.stats")
