"""MCP at ``/mcp`` of the service: the same wall, the same tokens, the same tenants."""

import asyncio
import json
from typing import Any

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestParams, ElicitResult

from tests.e2e.http.conftest import Service
from tests.e2e.http.test_tenants import SEND

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


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
