"""What is held of requests has an end, and whoever leaves in the middle of one is no failure of ours."""

from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from gristmill.config.tree import Config, StoreConfig
from gristmill.serve.access_tokens import LOCAL
from gristmill.serve.http.app import build_routes
from gristmill.serve.http.http_door import open_door
from gristmill.serve.http.limits.request_bodies import BodyBudget
from gristmill.serve.http.mount_mcp import GuardedApp
from gristmill.serve.http.routes.routes_files import PIECE_BYTES
from gristmill.testing import fake_runtime

pytestmark = pytest.mark.anyio
CLIENT = ("127.0.0.1", 1)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_files_on_their_way_are_held_against_the_budget_of_bodies(tmp_path: Path) -> None:
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path))) as runtime:
        door = open_door(runtime)
        app = FastAPI()
        app.include_router(build_routes(door))
        transport = httpx.ASGITransport(app=app, client=CLIENT)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            await client.post("/sessions", json={"name": "s"})
            door.budget = BodyBudget(4 * PIECE_BYTES)
            door.budget.reserve_bytes(2 * PIECE_BYTES, LOCAL)
            assert (await client.put("/sessions/s/files/a", content=b"1")).status_code == 429
            door.budget.release_bytes(2 * PIECE_BYTES, LOCAL)
            answers = [await client.put("/sessions/s/files/a", content=b"1") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [201] * 5


async def test_whoever_leaves_in_the_middle_of_a_body_for_mcp_is_no_failure(tmp_path: Path) -> None:
    sent: list[Message] = []

    async def never(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise AssertionError("there is no whole request")

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "client": CLIENT, "http_version": "1.1",
        "headers": [(b"host", b"localhost"), (b"content-length", b"100")],
    }  # fmt: skip
    async with fake_runtime(Config(store=StoreConfig(path=tmp_path))) as runtime:
        await GuardedApp(never, open_door(runtime))(scope, gone, send)
    assert sent[0]["status"] == 499
