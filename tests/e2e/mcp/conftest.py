"""What the tests of the MCP door share: an open runtime behind a door in memory, and the door as a process."""

import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from gristmill.config import Config, SandboxConfig, StoreConfig
from gristmill.runtime.runtime import Runtime
from gristmill.serve.mcp.hall import opened
from gristmill.serve.mcp.handles import Handles
from gristmill.serve.mcp.instructions import instructions
from gristmill.serve.mcp.known import known_servers
from gristmill.serve.mcp.server import build_server
from gristmill.serve.mcp.state import Door
from tests.conftest import TOOLS

ROOT = Path(__file__).parents[3]
Mode = Literal["legacy", "2026-07-28"]
MODES: list[Mode] = ["legacy", "2026-07-28"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of the fake workspace."""

    path: str
    size: int
    changed: float
    mime: str
    kind: str = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    entries: list[Entry]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    body: bytes
    size: int
    mime: str


@dataclass(slots=True)
class FakeFiles:
    """A workspace in memory."""

    contents: dict[str, tuple[bytes, str]] = field(default_factory=dict[str, tuple[bytes, str]])

    def list(self, *, after: str = "", limit: int = 1_000) -> Page:
        return Page(entries=[Entry(path=path, size=len(body), changed=0.0, mime=mime) for path, (body, mime) in self.contents.items()])

    def read(self, path: str, *, offset: int = 0, length: int | None = None) -> Body:
        body, mime = self.contents[path]
        return Body(body=body[: length or None], size=len(body), mime=mime)


@asynccontextmanager
async def open_door(state: Path, files: Callable[[str], FakeFiles] | None = None, **parts: Any) -> AsyncGenerator[Door]:
    """A door in front of a runtime with the tools of all tests."""
    config = Config(sandbox=SandboxConfig(warm=1), store=StoreConfig(path=state))
    async with Runtime.open(config, tools=TOOLS) as runtime:
        servers = await known_servers(runtime)
        door = Door(
            **{
                "hall": opened(runtime),
                "handles": Handles(key=b"k" * 32, now=time.time),
                "instructions": instructions(servers),
                "names": tuple(servers),
                "files": files,
            }
            | parts
        )
        try:
            yield door
        finally:
            await door.close()


@asynccontextmanager
async def connected(door: Door, mode: Mode, **options: Any) -> AsyncGenerator[Client]:
    """A client of that era, in memory."""
    async with Client(build_server(door), mode=mode, **options) as client:
        yield client


def stdio(config: Path) -> StdioServerParameters:
    """How a client starts ``gristmill serve``."""
    return StdioServerParameters(command=sys.executable, args=["-m", "gristmill", "serve", "--config", str(config)], env=environ())


def environ() -> dict[str, str]:
    return {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"]}


def text(result: Any) -> str:
    """The readable part of a result."""
    assert isinstance(result, CallToolResult)
    return str(getattr(result.content[0], "text", ""))
