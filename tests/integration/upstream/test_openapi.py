"""An OpenAPI document as a server, against a real API."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
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


def _document(folder: Path, url: str, paths: dict[str, Any] = PATHS) -> str:
    file = folder / "api.json"
    document = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "servers": [{"url": url}], "paths": paths}
    file.write_text(json.dumps(document))
    return str(file)


async def test_an_operation_is_called_and_its_json_comes_back(tmp_path: Path) -> None:
    async with web() as at, opened(api=ServerConfig(openapi=_document(tmp_path, at["issuer"]))) as upstreams:
        assert (await call(upstreams, "api.stats"))["register"] == 0
        assert [tool.key for tool in upstreams.tools] == ["api.stats", "api.missing", "api.token"]
        with pytest.raises(ToolFailed, match="HTTP 404"):
            await call(upstreams, "api.missing")


@pytest.mark.parametrize(
    ("patterns", "offered"),
    [
        ({"exclude": ("stats_stats_get",)}, ["missing"]),
        ({"exclude": ("stats",)}, ["missing"]),
        ({"include": ("stats_*",)}, ["stats"]),
        ({"include": ("stats", "missing"), "exclude": ("*_get",)}, ["missing"]),
    ],
)
async def test_patterns_may_mean_the_short_name_or_the_documents_id(
    tmp_path: Path, patterns: dict[str, Any], offered: list[str]
) -> None:
    paths: dict[str, Any] = {
        "/stats": {"get": {"operationId": "stats_stats_get", "responses": {}}},
        "/missing": {"get": {"operationId": "missing", "responses": {}}},
    }
    document = _document(tmp_path, "http://127.0.0.1:1", paths)
    async with opened(api=ServerConfig(openapi=document, **patterns)) as upstreams:
        await upstreams["api"].wait_until_settled()
        assert [tool.name for tool in upstreams.tools] == offered


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


@asynccontextmanager
async def _listener(answer: str = "{}") -> AsyncGenerator[tuple[str, list[str]]]:
    """A host that keeps the heads of all requests; yields its address and the heads."""
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(answer)}\r\nconnection: close\r\n\r\n"
        writer.write((head + answer).encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        yield f"{host}:{port}", heads


@pytest.mark.requirement("T90")
async def test_a_hostile_document_cannot_send_the_credential_to_another_host(tmp_path: Path) -> None:
    async with _listener() as (home, at_home), _listener() as (evil, at_evil):
        header: dict[str, Any] = {"name": "x-key", "in": "header", "schema": {}}
        host: dict[str, Any] = {"name": "Host", "in": "header", "schema": {}}
        paths: dict[str, Any] = {
            f"@{evil}/x": {"get": {"operationId": "lead", "responses": {}}},
            "/y": {"get": {"operationId": "replace", "parameters": [header, host], "responses": {}}},
        }
        config = ServerConfig(
            openapi=_document(tmp_path, "https://x.example", paths),
            base_url=f"http://{home}",
            headers={"X-Key": "${env:KEY}"},
        )
        async with open_upstreams({"api": config}, world(environ={"KEY": "s3cret-1"})) as upstreams:
            with pytest.raises(ToolFailed):
                await call(upstreams, "api.lead")
            with pytest.raises(ToolFailed):
                await call(upstreams, "api.replace", **{"x-key": "planted", "Host": "evil.example"})
            await call(upstreams, "api.replace")
    assert at_evil == []
    assert [f"host: {home}" in head.lower() and "s3cret-1" in head for head in at_home] == [True]


@pytest.mark.requirement("T90")
async def test_a_document_elsewhere_is_fetched_without_the_apis_credential() -> None:
    paths: dict[str, Any] = {"/y": {"get": {"operationId": "y", "responses": {}}}}
    document = json.dumps({"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": paths})
    async with _listener(document) as (library, at_library), _listener() as (home, at_home):
        headers = {"X-Key": "${env:KEY}"}
        config = ServerConfig(openapi=f"http://{library}/api.json", base_url=f"http://{home}", headers=headers)
        async with open_upstreams({"api": config}, world(environ={"KEY": "s3cret-1"})) as upstreams:
            await call(upstreams, "api.y")
    assert ["s3cret-1" in head for head in at_library] == [False]
    assert ["s3cret-1" in head for head in at_home] == [True]


@pytest.mark.requirement("T90")
async def test_a_fetched_document_cannot_choose_the_host_of_its_api() -> None:
    async with _listener() as (evil, at_evil):
        body = {
            "openapi": "3.1.0",
            "info": {"title": "t", "version": "1"},
            "servers": [{"url": f"http://{evil}"}],
            "paths": PATHS,
        }
        async with (
            _listener(json.dumps(body)) as (library, _),
            opened(api=ServerConfig(openapi=f"http://{library}/a")) as upstreams,
        ):
            with pytest.raises(UpstreamUnavailable, match="set base_url"):
                await call(upstreams, "api.stats")
    assert at_evil == []
