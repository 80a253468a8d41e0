"""The door over HTTP: a token, names of this host only, bounded bodies, several clients at once."""

import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from typer.testing import CliRunner

from gristmill.serve.cli.app import app
from gristmill.serve.mcp.transport.mcp_over_http import BODY_BYTES
from tests.e2e.mcp import tasks_client
from tests.e2e.mcp.conftest import MODES, Mode, environ, text

pytestmark = pytest.mark.anyio

TOKEN = "a token that nobody can guess"
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Generator[str]:
    config = state / "http.toml"
    config.write_text(f'[store]\npath = "{state / "http"}"\n')
    command = [sys.executable, "-m", "gristmill", "serve", "--http", "--port", "0", "--config", str(config)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ() | {"GRISTMILL_TOKEN": TOKEN}) as process:
        try:
            assert process.stderr
            yield next(line for line in process.stderr if "listening on" in line).split()[-1] + "/mcp"
        finally:
            process.terminate()


@asynccontextmanager
async def connected(url: str, mode: Mode, token: str = TOKEN, **options: Any) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield client


async def post(url: str, **options: Any) -> httpx2.Response:
    headers = HEADERS | {"Authorization": f"Bearer {TOKEN}"} | options.pop("headers", {})
    async with httpx2.AsyncClient(timeout=60) as client:
        body: dict[str, Any] = {"json": PING} | options
        return await client.post(url, headers=headers, **body)


@pytest.mark.parametrize("mode", MODES)
async def test_several_clients_work_at_once(url: str, mode: Mode) -> None:
    async def work(number: int) -> None:
        async with connected(url, mode) as client:
            result = await client.call_tool("execute_code", {"code": f"{number} + 1"})
            assert text(result) == f"ok\nresult: {number + 1}"

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(work, number)


async def test_a_long_run_is_a_task_and_its_id_must_be_the_one_in_the_header(url: str) -> None:
    with anyio.fail_after(60):
        async with connected(url, "2026-07-28", extensions=[tasks_client.Tasks()]) as client:
            handle: Any = await client.session.call_tool("execute_code", {"code": "while True: pass"}, allow_claimed=True)
            working = await tasks_client.get(client.session, handle.task_id)
            for header in ({}, {"Mcp-Name": "another"}):
                refused = await _get_task(url, handle.task_id, header)
                assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
            asked = await _get_task(url, handle.task_id, {"Mcp-Name": handle.task_id})
            await tasks_client.cancel(client.session, handle.task_id)
            ended = await tasks_client.until(client.session, handle.task_id, "cancelled", "completed")

    assert (working["status"], ended["status"]) == ("working", "cancelled")
    assert asked.json()["result"]["taskId"] == handle.task_id


async def _get_task(url: str, task: str, headers: dict[str, str]) -> httpx2.Response:
    version = "2026-07-28"
    capabilities: dict[str, Any] = {"extensions": {tasks_client.EXTENSION: {}}}
    prefix = "io.modelcontextprotocol"
    meta = {f"{prefix}/protocolVersion": version, f"{prefix}/clientCapabilities": capabilities}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": task, "_meta": meta}}
    return await post(url, json=body, headers={"Mcp-Method": "tasks/get", "Mcp-Protocol-Version": version, **headers})


@pytest.mark.requirement("T42")
@pytest.mark.parametrize("given", ["", "Bearer wrong", f"Basic {TOKEN}", "Bearer"])
async def test_without_the_token_nothing_is_answered(url: str, given: str) -> None:
    assert (await post(url, headers={"Authorization": given})).status_code == 401


@pytest.mark.requirement("T43")
@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
async def test_a_web_page_of_another_origin_is_refused(url: str, header: dict[str, str]) -> None:
    assert (await post(url, headers=header)).status_code in (403, 421)


@pytest.mark.requirement("T43")
async def test_a_simple_request_of_a_web_page_is_refused(url: str) -> None:
    assert (await post(url, headers={"Content-Type": "text/plain"})).status_code in (400, 415)


@pytest.mark.requirement("T44")
async def test_a_body_that_is_too_large_is_refused(url: str) -> None:
    assert (await post(url, json=None, content=b"x" * (BODY_BYTES + 1))).status_code == 413


async def test_beyond_this_machine_a_token_is_needed(state: Path) -> None:
    command = [sys.executable, "-m", "gristmill", "serve", "--http", "--host", "0.0.0.0", "--no-token", "--port", "0"]
    done = subprocess.run(command, env=environ(), capture_output=True, text=True, timeout=60, check=False, cwd=state)

    assert done.returncode == 2
    assert "there is no access token" in done.stderr


def test_no_option_serves_a_server_without_rules() -> None:
    done = CliRunner().invoke(app, ["serve", "--http", "--passthrough", "crm", "--port", "0"])

    assert done.exit_code == 2
    assert "No such option: --passthrough" in done.output
