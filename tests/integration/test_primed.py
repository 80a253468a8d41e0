"""A child that has rehearsed is like one that has not, but for the package that it has imported already."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from tests.conftest import TOOLS

LOOK = """
def open_files():
    import os
    for fd in range(64):
        try:
            os.fstat(fd)
        except OSError:
            continue
        yield fd

import asyncio, gc, linecache, sys, threading
{
    "names": sorted(globals()),
    "modules": sorted(set(sys.modules)),
    "files": list(open_files()),
    "sources": list(linecache.cache),
    "threads": threading.active_count(),
    "loops": sum(isinstance(each, asyncio.AbstractEventLoop) and not each.is_closed() for each in gc.get_objects()),
    "name": sys._getframe().f_code.co_filename,
}
"""
CALL = "from servers import crm\ncrm.get(1)"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def with_children(state: Path, warm: int) -> Config:
    return Config(sandbox=SandboxConfig(warm=warm), store=StoreConfig(path=state))


async def seen(runtime: Runtime) -> dict[str, Any]:
    outcome = await runtime.execute(LOOK)
    found: Any = outcome.result
    assert isinstance(found, dict), outcome.error
    return found  # pyright: ignore[reportUnknownVariableType]


@pytest.mark.anyio
async def test_nothing_of_a_rehearsal_is_to_be_seen_but_the_package(state: Path) -> None:
    async with Runtime.open(with_children(state / "none", 0), tools=TOOLS) as runtime:
        fresh = await seen(runtime)
    async with Runtime.open(with_children(state / "one", 1), tools=TOOLS) as runtime, asyncio.timeout(60):
        await runtime.execute(CALL)
        primed = await seen(runtime)
        while "servers" not in primed["modules"]:  # asked so soon that its child had no time for it
            await asyncio.sleep(0.05)
            primed = await seen(runtime)

    assert set(primed.pop("modules")) ^ set(fresh.pop("modules")) == {"servers"}
    assert primed == fresh


@pytest.mark.anyio
async def test_a_rehearsal_reaches_no_tool(state: Path) -> None:
    called: list[int] = []

    def get(number: int) -> int:
        called.append(number)
        return number

    async with Runtime.open(with_children(state, 2), tools={"crm.get": get}) as runtime:
        for number in range(4):
            outcome = await runtime.execute(f"from servers import crm\ncrm.get({number})")
            assert (outcome.result, list(outcome.tools_called)) == (number, ["crm.get"])
    assert called == [0, 1, 2, 3]
