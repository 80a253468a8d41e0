"""The router in somebody else's application, and what is logged."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2 as httpx
from fastapi import FastAPI
from starlette.requests import HTTPConnection

from gristmill.config.tree import Config, StoreConfig
from gristmill.serve.access_tokens import Principal
from gristmill.serve.http import router
from gristmill.testing import fake_runtime
from tests.e2e.http.conftest import Start

Requests = list[Coroutine[Any, Any, httpx.Response]]


def asked(
    config: Config, request: Callable[[httpx.AsyncClient], Requests], *, address: str = "127.0.0.1", known: bool = False
) -> list[int]:
    """Status codes of the requests that ``request`` makes of an application with our routes under ``/mill``."""

    async def authenticate(connection: HTTPConnection) -> Principal | None:
        user = connection.headers.get("x-user")
        return Principal(name=user, tenant="acme", scopes=frozenset({"execute"})) if user else None

    async def run() -> list[int]:
        async with fake_runtime(config, serving=True) as runtime:
            app = FastAPI()
            app.include_router(router(runtime, authenticate=authenticate if known else None), prefix="/mill")
            transport = httpx.ASGITransport(app=app, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return [(await one).status_code for one in request(client)]

    return asyncio.run(run())


def test_the_router_works_under_any_prefix_and_lets_in_this_machine_only(tmp_path: Path) -> None:
    config = Config(store=StoreConfig(path=tmp_path))

    def make(client: httpx.AsyncClient) -> Requests:
        return [
            client.post("/mill/execute", json={"code": "1"}), client.get("/mill/health"), client.get("/mill/nothing"),
            client.get("/mill/tools", headers={"Origin": "https://evil.example"}), client.get("/mill/tools", headers={"Host": "evil.example"}),
        ]  # fmt: skip

    assert asked(config, make) == [200, 200, 404, 403, 421]
    assert asked(config, lambda client: [client.get("/mill/tools")], address="10.0.0.7") == [401]


def test_an_application_can_say_who_asks(tmp_path: Path) -> None:
    config = Config(store=StoreConfig(path=tmp_path))

    def make(client: httpx.AsyncClient) -> Requests:
        known = {"X-User": "ann", "Host": "mill.example.com"}
        return [client.get("/mill/tools", headers=known), client.get("/mill/audit", headers=known), client.get("/mill/tools")]

    assert asked(config, make, address="10.0.0.7", known=True) == [200, 403, 401]


def test_logs_are_lines_of_json_with_ids_and_without_secrets(starting: Start) -> None:
    with starting() as service:
        with service.client("ann", headers={"X-Request-ID": "req-7"}) as client:
            outcome = client.post("/execute", json={"code": "'hidden-value-1'", "context": {"password": "hidden-value-2"}}).json()
            client.get("/tools/search", params={"query": "hidden-value-3"})
            client.get("/nothing%0d%0a%7b%7d", headers={"X-Odd": "hidden-value-4"})
        logged = service.end()
    lines = [json.loads(line) for line in logged.splitlines()]
    found = [line for line in lines if line.get("execution") == outcome["id"]]
    assert (found[0]["request"], found[0]["route"], found[0]["status"], found[0]["tenant"]) == ("req-7", "/execute", 200, "acme")
    assert [word for word in (*service.tokens.values(), "hidden-value") if word in logged] == []


def test_quiet_logs_say_only_what_is_wrong(starting: Start) -> None:
    settings = '[serve]\nport = 0\nlog_level = "error"\n[sandbox]\nwarm = 1\n'
    with starting(settings) as service:
        with service.client("ann") as client:
            client.get("/tools").raise_for_status()
        assert service.end() == ""
