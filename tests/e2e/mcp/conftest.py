"""What the tests of the MCP door share: an open runtime behind a door in memory, and the door as a process."""

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from gristmill.config.sections.policy_section import PolicyConfig
from gristmill.config.tree import Config, SandboxConfig, StoreConfig
from gristmill.runtime.runtime import Runtime
from gristmill.runtime.tools.configured_servers import describe_servers
from gristmill.serve.mcp.get_runtime import wrap_runtime
from gristmill.serve.mcp.mcp_door import McpDoor
from gristmill.serve.mcp.mcp_server import build_server
from gristmill.serve.mcp.tools.known_servers import list_known_servers
from gristmill.serve.mcp.tools.server_instructions import write_instructions
from tests.conftest import TOOLS

ROOT = Path(__file__).parents[3]
Mode = Literal["legacy", "2026-07-28"]
MODES: list[Mode] = ["legacy", "2026-07-28"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def open_door(state: Path, policy: dict[str, Any] | None = None, **parts: Any) -> AsyncGenerator[McpDoor]:
    """A door in front of a runtime with the tools of all tests."""
    config = Config(sandbox=SandboxConfig(warm=1), store=StoreConfig(path=state), policy=PolicyConfig(**(policy or {})))
    async with Runtime.open(config, tools=TOOLS) as runtime:
        servers = await list_known_servers(runtime)
        values: dict[str, Any] = {
            "hall": wrap_runtime(runtime),
            "instructions": write_instructions(describe_servers(runtime.config, servers)),
            "server_names": tuple(servers),
        }
        door = McpDoor(**values | parts)
        try:
            yield door
        finally:
            await door.close()


@asynccontextmanager
async def connected(door: McpDoor, mode: Mode, **options: Any) -> AsyncGenerator[Client]:
    """A client of that era, in memory."""
    async with Client(build_server(door), mode=mode, **options) as client:
        yield client


def stdio(config: Path) -> StdioServerParameters:
    """How a client starts ``gristmill serve``."""
    return StdioServerParameters(
        command=sys.executable, args=["-m", "gristmill", "serve", "--config", str(config)], env=environ()
    )


def environ() -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"], "XDG_STATE_HOME": os.environ["XDG_STATE_HOME"]}


def text(result: Any) -> str:
    """The readable part of a result."""
    assert isinstance(result, CallToolResult)
    return str(getattr(result.content[0], "text", ""))
