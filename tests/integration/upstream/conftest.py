"""What the tests of this folder share: a hostile server's configuration and a short way to call."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from subprocess import DEVNULL, PIPE
from typing import Any

import pytest
from anyio import fail_after, open_process

from gristmill.config.sections.servers_section import ServerConfig
from gristmill.events import Event
from gristmill.model import ToolCall
from gristmill.upstream.base import Upstreams
from gristmill.upstream.open_upstreams import Surroundings, open_upstreams
from tests.servers import HERE
from tests.servers.warm import warm


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def web(*options: str) -> AsyncGenerator[dict[str, str]]:
    """The tool servers over HTTP; yields their addresses by name."""
    process = await open_process(warm("web.py", *options), stdin=DEVNULL, stdout=PIPE, stderr=None)
    try:
        assert process.stdout
        with fail_after(30):
            yield json.loads(await process.stdout.receive())
    finally:
        process.kill()
        await process.wait()
        await process.aclose()


def hostile(*words: str, **settings: Any) -> ServerConfig:
    """The hostile server, behaving as told; the probe is skipped unless the test is about it."""
    script = str(HERE / "hostile.py")
    values: dict[str, Any] = {"era": "legacy", "health_seconds": 0} | settings
    return ServerConfig(command=sys.executable, args=("-I", "-S", script, *words), **values)


def world(**parts: Any) -> Surroundings:
    """The world of a test: our environment, and no chance."""
    values: dict[str, Any] = {"environ": os.environ, "dice": lambda: 0.0}
    return Surroundings(**values | parts)


@asynccontextmanager
async def opened(**servers: ServerConfig) -> AsyncGenerator[Upstreams]:
    """These servers, in the plain world; nothing may take longer than half a minute."""
    with fail_after(30):
        async with open_upstreams(servers, world()) as upstreams:
            yield upstreams


async def call(upstreams: Upstreams, tool: str, **arguments: Any) -> Any:
    """Call a tool and return its value."""
    return (await upstreams(ToolCall(id=1, tool=tool, arguments=arguments, execution="e"))).value


def recorder() -> tuple[list[Event], Callable[[Event], None]]:
    """A list, and an ``Emit`` that fills it."""
    events: list[Event] = []
    return events, events.append
