"""A search right after opening finds the tools of servers that are only being listed."""

from pathlib import Path

import pytest

from gristmill import Config, Runtime
from gristmill.config.tree import SandboxConfig, StoreConfig
from tests.servers.warm import server_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_the_first_search_waits_for_the_servers(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    config = Config(
        servers={"modern": server_of("modern.py")}, sandbox=SandboxConfig(warm=0), store=StoreConfig(path=tmp_path / "state")
    )
    async with Runtime.open(config) as runtime:
        found = await runtime.search("greet")
    assert [hit.tool.key for hit in found.hits][:1] == ["modern.greet"]


async def test_a_server_that_cannot_start_does_not_hold_the_search_up(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    broken = server_of("modern.py").model_copy(update={"command": "/no/such/program"})
    config = Config(servers={"broken": broken}, sandbox=SandboxConfig(warm=0), store=StoreConfig(path=tmp_path / "state"))
    async with Runtime.open(config) as runtime:
        assert (await runtime.search("greet")).hits == ()
