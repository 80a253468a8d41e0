"""Real clients drive the real server: each starts ``gristmill serve`` as its user would, lists the tools and runs a program."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.e2e.mcp.conftest import MODES, Mode, environ, stdio, text
from tests.servers import TOOLS, client_python, node_24

HERE = Path(__file__).parent
NAMES = ["search_tools", "execute_code"]
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"


@pytest.fixture(scope="module")
def config(state: Path) -> Path:
    path = state / "clients.toml"
    path.write_text(f'[store]\npath = "{state / "clients"}"\n')
    return path


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _serve(config: Path) -> list[str]:
    return [sys.executable, "-m", "gristmill", "serve", "-c", str(config)]


def _seen(command: list[str], folder: Path) -> Any:
    """What the client prints, as JSON."""
    done = subprocess.run(command, env=environ(), cwd=folder, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.anyio
@pytest.mark.parametrize("mode", MODES)
async def test_python_sdk(config: Path, mode: Mode) -> None:
    async with Client(stdio(config), mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("execute_code", {"code": "6 * 7"})

    assert tools == NAMES
    assert text(result) == "ok\nresult: 42"


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_typescript_sdk(config: Path, mode: str, version: str) -> None:
    node, _ = node_24(INSPECTOR)
    seen = _seen([node, str(HERE / "client.mjs"), str(TOOLS / "node24"), mode, *_serve(config)], config.parent)

    assert (seen["version"], seen["tools"]) == (version, NAMES)
    assert seen["result"]["content"][0]["text"] == "ok\nresult: 42\noutput:\nhi"


def test_typescript_sdk_of_2025_with_tasks(config: Path) -> None:
    node, _ = node_24(INSPECTOR)
    seen = _seen([node, str(HERE / "tasks.mjs"), str(TOOLS / "node24"), *_serve(config)], config.parent)

    kinds = [message["type"] for message in seen["messages"]]
    assert (kinds[0], kinds[-1]) == ("taskCreated", "result")
    assert seen["messages"][-1]["result"]["content"][0]["text"] == "ok\nresult: 42\noutput:\nhi"
    assert [(task["taskId"], task["status"]) for task in seen["tasks"]] == [(seen["messages"][0]["task"]["taskId"], "completed")]


def test_inspector(config: Path) -> None:
    variables = [word for name, value in environ().items() for word in ("-e", f"{name}={value}")]
    call = ["--method", "tools/call", "--tool-name", "execute_code", "--tool-arg", "code=6*7"]
    # Its own --config would swallow ours, so the server finds the file where it is started.
    (config.parent / "gristmill.toml").write_text(config.read_text())
    seen = _seen([*node_24(INSPECTOR), "--cli", *variables, sys.executable, "-m", "gristmill", "serve", *call], config.parent)

    assert seen["structuredContent"]["result"] == 42


@pytest.mark.parametrize("client", ["fastmcp", "pydantic-ai", "langchain"])
def test_python_client_in_its_own_environment(config: Path, client: str) -> None:
    script = HERE / f"with_{client.replace('-', '_')}.py"
    seen = _seen([client_python(f"client-{client}"), "-I", str(script), *_serve(config)], config.parent)

    assert set(seen["tools"]) == set(NAMES)
    assert "42" in seen["text"]
