"""MCP at ``/mcp`` of the service: the same wall, the same tokens, the same tenants."""

import asyncio
import json
import signal
import socket
from typing import Any

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult

from tests.e2e.http.conftest import Service, Start
from tests.e2e.http.test_tenants import SEND

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}
INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0", "id": 0, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


async def yes(_context: ClientRequestContext, _asked: ElicitRequestParams) -> ElicitResult:
    """A client that agrees to everything."""
    return ElicitResult(action="accept", content={"approve": "all"})


def call(service: Service, who: str | None, tool: str, arguments: dict[str, Any], **options: Any) -> str:
    """What a tool answers over MCP, as JSON text."""

    async def run() -> str:
        headers = {"Authorization": f"Bearer {service.tokens[who]}"} if who else {}
        async with (
            httpx.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{service.url}/mcp", http_client=http), **options) as client,
        ):
            return (await client.call_tool(tool, arguments)).model_dump_json()

    return asyncio.run(run())


@pytest.mark.requirement("T46")
def test_what_is_executed_over_mcp_belongs_to_the_tenant_of_its_token(service: Service) -> None:
    assert "42" in call(service, "ann", "execute_code", {"code": "mark = 'by-mcp-7'\n6 * 7", "session": "new"})
    with service.client("reader") as reader, service.client("eve") as eve, service.client("ann") as ann:
        assert "by-mcp-7" in reader.get("/audit", params={"kind": "execution"}).text
        assert "by-mcp-7" not in eve.get("/audit", params={"limit": 1000}).text
        handle = ann.get("/sessions").json()[0]["id"]
    assert "no session" in call(service, "ann_evil", "execute_code", {"code": "1", "session": handle})


@pytest.mark.requirement("T42", "T43")
def test_mcp_stands_behind_the_same_wall(service: Service) -> None:
    with service.client(headers=ACCEPT) as client:
        assert client.post("/mcp", json=PING, headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 401
        assert client.post("/mcp", json=PING, headers={"Host": "evil.example"}).status_code == 421
        assert client.post("/mcp", json=PING, headers={"Origin": "https://evil.example"}).status_code == 403
    with service.client("reader", headers=ACCEPT) as client:
        assert client.post("/mcp", json=PING).json()["rule"] == "scope"


@pytest.mark.requirement("T48")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_that_agrees_to_everything_approves_nothing_without_the_scope(service: Service, mode: str) -> None:
    letter = f"{mode} letter"
    for who in ("ann", None):
        told = call(service, who, "execute_code", {"code": SEND.replace("carl", letter)}, elicitation_callback=yes, mode=mode)
        assert json.loads(told)["structured_content"]["status"] == "awaiting_approval"
    told = call(service, "ann_both", "execute_code", {"code": SEND.replace("carl", letter)}, elicitation_callback=yes, mode=mode)
    assert json.loads(told)["structured_content"]["result"] == {"sent": letter, "times": 1}


@pytest.mark.requirement("T46")
def test_a_session_of_the_protocol_is_its_callers(service: Service) -> None:
    listed = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    with service.client("ann", headers=ACCEPT) as ann:
        opened = ann.post("/mcp", json=INITIALIZE)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        ann.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        for stranger in ("eve", "ann_evil", "admin", None):
            with service.client(stranger, headers={**ACCEPT, **session}) as other:
                assert other.post("/mcp", json=listed).status_code == 404
                assert other.delete("/mcp").status_code == 404
        assert "execute_code" in ann.post("/mcp", json=listed, headers=session).text
        assert ann.delete("/mcp", headers=session).status_code == 200


@pytest.mark.requirement("T44")
def test_bodies_at_mcp_have_the_size_and_the_time_of_all_others(service: Service) -> None:
    with service.client("ann", headers=ACCEPT) as client:
        large = client.post("/mcp", json={**PING, "params": {"x": "y" * 300_000}})
        assert (large.status_code, large.json()["limit"]) == (413, "serve.body_bytes")
    host, port = service.address
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {service.tokens['ann']}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    with socket.create_connection((host, port), timeout=30) as connection:
        connection.sendall(head.encode())
        assert b" 408 " in connection.recv(1 << 16)


def test_nothing_new_is_executed_over_mcp_at_the_end(starting: Start) -> None:
    code = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)"
    with starting() as service, service.client("ann") as client:
        client.post("/execute", json={"code": code, "session": "last", "background": True})
        service.process.send_signal(signal.SIGTERM)
        while client.get("/ready").status_code == 200:
            pass
        assert "the service is ending" in call(service, "ann", "execute_code", {"code": "1"})
        client.put("/sessions/last/files/go", content=b"")
        assert service.process.wait(30) == 0
